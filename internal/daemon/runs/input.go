package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/runlog"
)

// inputRequest is a request for input from the user.
type inputRequest struct {
	id, agent, prompt, step string
	at                      time.Time
	answer                  chan string   // receives one value
	claimed                 bool          // guarded by run.mu
	recorded                chan struct{} // closed when it is known whether the request is recorded
}

// fits reports whether an answer belongs to this request for input and the request is still
// unanswered.
func (in *inputRequest) fits(agentName, inputID string) bool {
	return !in.claimed && (agentName == "" || in.agent == agentName) && (inputID == "" || in.id == inputID)
}

// askUser performs a step of a user agent: it waits for a client's input. If the first step of
// the run is a user agent, the input of the start answers it.
func (x *run) askUser(ctx context.Context, s strategy.Step, spec strategy.Agent) (strategy.Output, error) {
	if before := x.resumed.input(s.Path); before != nil {
		if before.given != nil {
			return strategy.Output{Text: before.given.Text}, nil
		}
		return x.waitForInput(ctx, &inputRequest{
			id: before.asked.InputID, agent: s.Agent, prompt: before.asked.Text, step: s.Path, at: before.at, answer: make(chan string, 1),
		})
	}
	if s.First && s.Input != "" {
		return strategy.Output{Text: s.Input}, nil
	}
	in := &inputRequest{
		id: x.r.o.Sessions.NewID(), agent: s.Agent, prompt: spec.Prompt, step: s.Path, at: x.r.o.Clock(), answer: make(chan string, 1),
	}
	e := wire.RunEvent{
		Event: wire.RunInputAsked, Segment: x.segment, Step: s.Path, StepName: s.Name, Agent: s.Agent, InputID: in.id, Text: in.prompt,
	}
	if err := x.recordInputRequest(ctx, in, e); err != nil {
		return strategy.Output{}, err
	}
	return x.waitForInput(ctx, in)
}

// recordInputRequest records a request for input. Before that, no client can answer the request;
// afterward, every client that reads the log can.
func (x *run) recordInputRequest(ctx context.Context, in *inputRequest, e wire.RunEvent) error {
	in.recorded = make(chan struct{})
	x.mu.Lock()
	x.asking = append(x.asking, in)
	x.mu.Unlock()
	_, err := x.append(ctx, e, api.StatusRunning)
	if err == nil {
		x.addInput(in)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asking = slices.DeleteFunc(x.asking, func(o *inputRequest) bool { return o == in })
	close(in.recorded)
	return err
}

func (x *run) addInput(in *inputRequest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inputs[in.id] = in
}

func (x *run) waitForInput(ctx context.Context, in *inputRequest) (strategy.Output, error) {
	x.addInput(in)
	defer func() {
		x.mu.Lock()
		delete(x.inputs, in.id)
		x.mu.Unlock()
	}()
	select {
	case text := <-in.answer:
		return strategy.Output{Text: text}, nil
	case <-ctx.Done():
		return strategy.Output{}, context.Cause(ctx)
	case <-x.r.leave:
		return strategy.Output{}, errSuspended
	}
}

// Input answers a request_input. It answers the request with inputID, or the request that waits for
// the agent. The answer is recorded when Input returns. The error is NO_PENDING_INPUT if no such
// request is open, or if another answer came first.
func (r *Runs) Input(ctx context.Context, id, agentName, inputID, text string, by Actor) error {
	none := wireError(wire.NoPendingInput(id, cmp.Or(agentName, inputID)))
	x := r.lookup(id)
	if x == nil {
		return none
	}
	in, err := x.claim(ctx, agentName, inputID)
	switch {
	case err != nil:
		return err
	case in == nil:
		return none
	}
	e := wire.RunEvent{
		Event: wire.RunInputGiven, Segment: x.segment, Step: in.step, Agent: in.agent, InputID: in.id, Text: text, By: by.Name, Via: by.Via,
	}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
		x.mu.Lock()
		in.claimed = false
		x.mu.Unlock()
		if errors.Is(err, runlog.ErrChanged) {
			return none
		}
		return err
	}
	in.answer <- text
	return nil
}

// claim claims for one caller the oldest input that fits. If no input fits, it returns nil. If a
// matching request is being recorded, claim waits for it, because the caller may already have seen
// it.
func (x *run) claim(ctx context.Context, agentName, inputID string) (*inputRequest, error) {
	ctx, stop := withWaitLimit(ctx)
	defer stop()
	for {
		found, asking := x.claimNow(agentName, inputID)
		if asking == nil {
			return found, nil
		}
		select {
		case <-asking.recorded:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claimNow claims an input, or returns one whose request is being recorded.
func (x *run) claimNow(agentName, inputID string) (found, asking *inputRequest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, in := range x.inputs {
		if in.fits(agentName, inputID) && (found == nil || in.id < found.id) {
			found = in
		}
	}
	if found != nil {
		found.claimed = true
		return found, nil
	}
	for _, in := range x.asking {
		if in.fits(agentName, inputID) {
			return nil, in
		}
	}
	return nil, nil
}

// openInputs counts the open requests for input. It also counts requests that are still being
// recorded: a client that has already seen such a request must find the run waiting.
func (x *run) openInputs() int {
	x.mu.Lock()
	asking := len(x.asking)
	x.mu.Unlock()
	return asking + len(x.waiting())
}

// waiting lists the open requests for input, oldest first.
func (x *run) waiting() []api.WaitingInput {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []api.WaitingInput
	for _, in := range x.inputs {
		if !in.claimed {
			list = append(list, api.WaitingInput{InputRequestID: in.id, AgentName: in.agent, Prompt: in.prompt, AskedAt: in.at})
		}
	}
	slices.SortFunc(list, func(a, b api.WaitingInput) int { return cmp.Compare(a.InputRequestID, b.InputRequestID) })
	return list
}
