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

// Step is one call of an agent with an input.
type Step struct {
	Path  string // unique in the flow and the same in every run: "0", "1.r2.0", "1.r2.observer"
	Name  string // a name to display: the name of the agent, or of the step of the flow
	Agent string
	Input string
	First bool // no step ran before this one: Input is the input of the flow
}

// Output is the result of a step.
type Output struct {
	Text   string
	Finish string
	Usage  transcript.Usage
	Cost   float64
}

// StepFunc performs a step. It is called once per path, and concurrently in a broadcast. No step
// starts after an error.
type StepFunc func(ctx context.Context, s Step) (Output, error)

// StepError reports which step of which flow failed. It wraps the error of the StepFunc.
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

// Run runs the flow on an input and returns the last output. The output of a broadcast consists of
// the outputs of its steps in the order of the file, joined by the broadcast's separator. Usage and
// Cost are the sums of all steps, even after an error. Errors are *[StepError], or the context's
// cause if it ended before a step started.
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

// stepIO is the input or output of a step.
type stepIO struct {
	text   string
	finish string
	first  bool
}

// flow runs a flow whose steps have paths that begin with prefix ("" or a text ending in a dot).
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

// cycle runs its steps as a sequence. It repeats the sequence with the output, until a signal or
// the number of cycles ends it. If the cycle has an observer, only the observer can signal its end.
// Without the signal, the observer's output is the input of the next round, and after the last
// round it is the result.
func (r *runner) cycle(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	for round := 1; n.cycles == endless || round <= n.cycles; round++ {
		at := prefix + "r" + strconv.Itoa(round) + "."
		output, err := r.sequence(ctx, n, at, in)
		if err != nil {
			return stepIO{}, err
		}
		in = output
		if n.observer != "" {
			if in, err = r.step(ctx, n.name, Step{
				Path: at + "observer", Name: n.observer, Agent: n.observer, Input: output.text,
			}); err != nil {
				return stepIO{}, err
			}
		}
		if n.match.found(in.text, n.signals) {
			return output, nil
		}
	}
	return in, nil
}

// ErrPaused is the error of a step that can be continued later. The other steps of the same
// broadcast continue until they have ended, failed or paused.
var ErrPaused = errors.New("paused")

var errSibling = errors.New("another step of the broadcast failed")

// broadcast runs all steps of a broadcast concurrently. The first error cancels the other steps and
// is returned. A paused step cancels nothing.
func (r *runner) broadcast(ctx context.Context, n *node, prefix string, in stepIO) (stepIO, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg     sync.WaitGroup
		once   sync.Once
		first  error
		pause  sync.Once
		paused error
		output = make([]stepIO, len(n.steps))
	)
	for i := range n.steps {
		wg.Go(func() {
			out, err := r.child(ctx, n, prefix, i, in)
			if errors.Is(err, ErrPaused) {
				pause.Do(func() { paused = err })
				return
			}
			if err != nil {
				once.Do(func() { first = err })
				cancel(errSibling)
				return
			}
			output[i] = out
		})
	}
	wg.Wait()
	if first != nil {
		return stepIO{}, first
	}
	if paused != nil {
		return stepIO{}, paused
	}
	texts := make([]string, len(output))
	for i, s := range output {
		texts[i] = s.text
	}
	return stepIO{text: strings.Join(texts, n.separator), finish: output[len(output)-1].finish}, nil
}
