package strategy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Step asks an agent to answer an input.
type Step struct {
	Path  string // unique in the flow and the same every time: "0", "1.r2.0", "1.r2.observer"
	Name  string // for people: the agent's name, or that of the flow's step
	Agent string
	Input string
	First bool // nothing ran before it: Input is what the flow was given
}

// Output is what came of a step.
type Output struct {
	Text   string
	Finish string
	Usage  transcript.Usage
	Cost   float64
}

// StepFunc makes a step. It is called once for each path, and concurrently in a broadcast.
// After an error no further step begins.
type StepFunc func(ctx context.Context, s Step) (Output, error)

// StepError says which step of which flow failed. It wraps what Do returned.
type StepError struct {
	Flow string // the name of the flow that the step belongs to
	Step string // [Step.Name]
	Path string // [Step.Path]
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("flow %q, step %q: %v", e.Flow, e.Step, e.Err)
}

// Unwrap returns the step's error.
func (e *StepError) Unwrap() error { return e.Err }

// Run runs the flow on an input and returns the last output; a broadcast's is what
// its steps said, in the order of the file, with its separator between. Usage and
// Cost are of all steps, also when there is an error. Errors are *[StepError], or the
// context's cause when it was done before a step began.
func (f *Flow) Run(ctx context.Context, input string, do StepFunc) (Output, error) {
	if f.root == nil {
		return Output{Text: input}, nil
	}
	r := &runner{do: do}
	out, err := r.flow(ctx, f.root, "", stepIO{text: input, first: true})
	r.mu.Lock()
	defer r.mu.Unlock()
	return Output{Text: out.text, Finish: out.finish, Usage: r.usage, Cost: r.cost}, err
}

// runner is one run of a flow.
type runner struct {
	do StepFunc

	mu    sync.Mutex
	usage transcript.Usage
	cost  float64
}

// stepIO is what goes into a step or came out of one.
type stepIO struct {
	text   string
	finish string
	first  bool
}

// flow runs a flow whose path is prefix ("" or ending in a dot).
func (r *runner) flow(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	switch n.kind {
	case cycle:
		return r.cycle(ctx, n, prefix, in)
	case broadcast:
		return r.broadcast(ctx, n, prefix, in)
	}
	return r.sequence(ctx, n, prefix, in)
}

// child runs the i-th step of a flow.
func (r *runner) child(ctx context.Context, n *node, prefix string, i int, in stepIO) (stepIO, error) {
	path, c := prefix+strconv.Itoa(i), n.steps[i]
	if c.kind != step {
		return r.flow(ctx, c, path+".", in)
	}
	return r.step(ctx, n.name, Step{Path: path, Name: c.name, Agent: c.agent, Input: in.text, First: in.first})
}

func (r *runner) step(ctx context.Context, flow string, s Step) (stepIO, error) {
	if ctx.Err() != nil {
		return stepIO{}, context.Cause(ctx)
	}
	out, err := r.do(ctx, s)
	r.mu.Lock()
	r.usage = r.usage.Add(out.Usage)
	r.cost += out.Cost
	r.mu.Unlock()
	if err != nil {
		return stepIO{}, &StepError{Flow: flow, Step: s.Name, Path: s.Path, Err: err}
	}
	return stepIO{text: out.Text, finish: out.Finish}, nil
}

func (r *runner) sequence(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	var err error
	for i := range n.steps {
		if in, err = r.child(ctx, n, prefix, i, in); err != nil {
			return stepIO{}, err
		}
	}
	return in, nil
}

// cycle runs its steps as a sequence, and again with what came of it, until a signal
// or the number of cycles ends it. Where there is an observer, it is the one who says
// the signal; what it says otherwise is the next round's input, and after the last
// round the result.
func (r *runner) cycle(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	for round := 1; n.cycles == endless || round <= n.cycles; round++ {
		at := prefix + "r" + strconv.Itoa(round) + "."
		said, err := r.sequence(ctx, n, at, in)
		if err != nil {
			return stepIO{}, err
		}
		in = said
		if n.observer != "" {
			if in, err = r.step(ctx, n.name, Step{
				Path: at + "observer", Name: n.observer, Agent: n.observer, Input: said.text,
			}); err != nil {
				return stepIO{}, err
			}
		}
		if n.match.found(in.text, n.signals) {
			return said, nil
		}
	}
	return in, nil
}

// ErrPaused is the error of a step that can be gone on with later. Beside it in a
// broadcast, the others go on until they have ended, failed or paused.
var ErrPaused = errors.New("paused")

var errSibling = errors.New("another step of the broadcast failed")

// broadcast runs its steps side by side. The first that fails ends the others; the
// error is its own, not that of those it ended. One that pauses ends nobody.
func (r *runner) broadcast(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		pause sync.Once
		later error
		said  = make([]stepIO, len(n.steps))
	)
	for i := range n.steps {
		wg.Go(func() {
			out, err := r.child(ctx, n, prefix, i, in)
			if errors.Is(err, ErrPaused) {
				pause.Do(func() { later = err })
				return
			}
			if err != nil {
				once.Do(func() { first = err })
				cancel(errSibling)
				return
			}
			said[i] = out
		})
	}
	wg.Wait()
	if first != nil {
		return stepIO{}, first
	}
	if later != nil {
		return stepIO{}, later
	}
	texts := make([]string, len(said))
	for i, s := range said {
		texts[i] = s.text
	}
	return stepIO{text: strings.Join(texts, n.separator), finish: said[len(said)-1].finish}, nil
}
