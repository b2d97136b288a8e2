package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrInterrupted means that the run's daemon stopped. Completed work is saved, and [Client.Resume]
// continues the run.
var ErrInterrupted = errors.New("the daemon stopped during the run; completed work is saved")

// Run is a run in the daemon. It has the methods of the runtime's Run, so a program can use either
// in the same way. Its methods may be called from any goroutine.
type Run struct {
	c   *Client
	id  string
	ask func(context.Context, approval.Request) (approval.Answer, error)

	mu      sync.Mutex
	begin   func(context.Context) error // nil: it has started
	stopped bool                        // by this program
	over    bool                        // its end was received
	result  *event.Result               // of the last turn
	err     error                       // the error that stopped the run
}

// Prepare checks a spec and creates a run. The run starts when [Run.Events] or [Run.Wait] has read
// the existing records, so no events are missed. If env is not nil, its entries "NAME=value"
// replace the daemon's environment. That is only possible over the unix socket, and env is never
// recorded.
func (c *Client) Prepare(ctx context.Context, spec runspec.Spec, env []string) (*Run, error) {
	if err := spec.Check(); err != nil {
		return nil, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	start := spec.Session.ID != ""
	request := &api.NewRun{Spec: spec, Environ: env, Start: &start}
	if start {
		switch _, err := c.Session(ctx, spec.Session.ID); {
		case err == nil: // CreateRun continues the run
			return c.newRun(spec.Session.ID, func(ctx context.Context) error {
				_, err := c.CreateRun(ctx, request)
				return err
			}), nil
		case !isStatus(err, http.StatusNotFound):
			return nil, err
		}
		start = false
	}
	request.Images = nil // they are sent with the start
	info, err := c.CreateRun(ctx, request)
	if err != nil {
		return nil, err
	}
	return c.newRun(info.RunID, func(ctx context.Context) error {
		_, err := c.StartRun(ctx, info.RunID, spec.Prompt, spec.Images...)
		return err
	}), nil
}

func (c *Client) newRun(id string, begin func(context.Context) error) *Run {
	return &Run{c: c, id: id, begin: begin}
}

// isStatus reports whether an error is a problem with one of these HTTP statuses.
func isStatus(err error, statuses ...int) bool {
	p, ok := errors.AsType[*api.Problem](err)
	for _, s := range statuses {
		if ok && p.Status == s {
			return true
		}
	}
	return false
}

// Start starts a run. It returns after the start is recorded.
func (c *Client) Start(ctx context.Context, spec runspec.Spec) (*Run, error) {
	r, err := c.Prepare(ctx, spec, nil)
	if err != nil {
		return nil, err
	}
	return r, r.start(ctx)
}

// start starts the run; later calls do nothing.
func (r *Run) start(ctx context.Context) error {
	r.mu.Lock()
	begin := r.begin
	r.begin = nil
	r.mu.Unlock()
	if begin == nil {
		return nil
	}
	return begin(ctx)
}

// Resume continues the session with this id, with its recorded spec. If there is no prompt, it
// finishes the interrupted turn.
func (c *Client) Resume(ctx context.Context, id, prompt string) (*Run, error) {
	if _, err := c.ContinueRun(ctx, id, prompt); err != nil {
		return nil, err
	}
	return c.newRun(id, nil), nil
}

// Fork forks the session with this id and starts a run of the fork; the original session stays
// unchanged. If the options are nil, the whole session is forked, without its grants and other
// permission decisions.
func (c *Client) Fork(ctx context.Context, id, prompt string, o *session.ForkOptions) (*Run, error) {
	var f api.Fork
	if o != nil {
		f = api.Fork{At: o.ItemID, Title: o.Title, WithGrants: o.Grants}
	}
	made, err := c.ForkSession(ctx, id, f)
	if err != nil {
		return nil, err
	}
	return c.Resume(ctx, made.ID, prompt)
}

// Attach returns the run of the session with this id.
func (c *Client) Attach(ctx context.Context, id string) (*Run, error) {
	s, err := c.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.newRun(s.ID, nil), nil
}

// ID returns the id of the run's session.
func (r *Run) ID() string { return r.id }

// SetAsker makes the function ask answer the approvals of the run and of its sub-agents. This
// happens while [Run.Events] or [Run.Wait] is read. Call SetAsker before them. The function ask
// must return when its context ends. The context ends if another client has answered, the time is
// up, or the run was interrupted. If ask returns an error, the tool call is denied. The exception
// is [approval.ErrSuspend]: the approval stays pending, Events ends with this error, and the run
// waits.
func (r *Run) SetAsker(ask func(ctx context.Context, q approval.Request) (approval.Answer, error)) {
	r.ask = ask
}

// Send sends more input to the run. During a turn, the input is added to the next model request.
// Otherwise it starts the next turn. Only text and images are supported.
func (r *Run) Send(ctx context.Context, input ...transcript.Part) error {
	text, images, err := inputimage.FromInput(input)
	if err != nil {
		return outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	info, err := r.c.Run(ctx, r.id)
	if err != nil {
		return err
	}
	if !info.Status.Ended() {
		_, err = r.c.SteerRun(ctx, r.id, text, images...)
		if !isStatus(err, http.StatusConflict) { // a conflict means that the run has just ended
			return err
		}
	}
	r.mu.Lock()
	r.over, r.stopped = false, false
	r.mu.Unlock()
	_, err = r.c.ContinueRun(ctx, r.id, text, images...)
	return err
}

// Answer answers an approval of the run, by the approval's id, and returns the answer in effect. If
// the approval already has a different answer, Answer returns that answer and an error that matches
// [approval.ErrAnswered] with errors.Is.
func (r *Run) Answer(ctx context.Context, question string, a approval.Answer) (approval.Answer, error) {
	return r.c.answer(ctx, question, "", a)
}

// answer answers an approval. A digest that is not empty must be the digest of the approval.
func (c *Client) answer(ctx context.Context, question, digest string, a approval.Answer) (approval.Answer, error) {
	q, err := c.Decide(ctx, question, api.Decision{
		Decision: a.Decision, Scope: a.Scope, Message: a.Message, Stop: a.Stop, Input: a.Input, Digest: digest,
	})
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Winner != nil {
		return *p.Winner, err
	}
	if err != nil || q.Answer == nil {
		return approval.Answer{}, err
	}
	return *q.Answer, nil
}

// Change changes the run's policy: it sets the mode or revokes a grant. The change applies from the
// next decision. It returns the change that was requested.
func (r *Run) Change(ctx context.Context, change policy.Change) (policy.Change, error) {
	var err error
	switch {
	case change.Mode != "":
		_, err = r.c.SetMode(ctx, r.id, change.Mode)
	case change.Revoke != "":
		err = r.c.Revoke(ctx, r.id, change.Revoke)
	default:
		err = outcome.Invalid("only the mode can be changed and grants revoked", "to add path rules, use Client.ChangePolicy")
	}
	return change, err
}

// Interrupt stops the running turn; its end is reported like that of other turns. [Run.Send]
// continues the run.
func (r *Run) Interrupt(ctx context.Context) error {
	r.mu.Lock()
	r.stopped = true
	prepared := r.begin != nil
	r.mu.Unlock()
	_, err := r.c.StopRun(ctx, r.id)
	if prepared || isStatus(err, http.StatusNotFound, http.StatusConflict) {
		return nil // the run has just ended, or it was never started
	}
	return err
}

// Stop ends the run. When it returns, other processes can use the session.
func (r *Run) Stop(ctx context.Context) error { return r.Interrupt(ctx) }

// Wait waits until the run has ended, and returns the result of its last turn. A failed model call
// is in Result.Err. The returned error says what stopped the run: for example [ErrInterrupted], or
// the end of ctx.
func (r *Run) Wait(ctx context.Context) (*event.Result, error) {
	r.mu.Lock()
	over := r.over
	r.mu.Unlock()
	if !over {
		for _, err := range r.Events(ctx, 0) {
			if err != nil {
				return nil, err
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result, r.err
}

// runEnd is the end of a run, from its record.
type runEnd struct {
	Event   string            `json:"event"`
	By      string            `json:"by"`
	Via     string            `json:"via"`
	Text    string            `json:"text"`
	Message string            `json:"message"`
	Usage   *transcript.Usage `json:"usage"`
	Cost    float64           `json:"cost_usd"`
}

// These are the values of runEnd.Event. All except runSteered end the run.
const (
	runSteered     = "steered"
	runCompleted   = "completed"
	runFailed      = "failed"
	runCancelled   = "cancelled"
	runInterrupted = "interrupted"
)

// ended stores the end of the run, and the result of its agent if there is one. It returns the
// events to yield.
func (r *Run) ended(e *runEnd, res *event.Result) (list []event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.result, r.err = true, nil, nil
	switch {
	case e.Event == runInterrupted:
		r.err = ErrInterrupted
		return nil
	case e.Event == runFailed && res == nil:
		r.err = errors.New(e.Message)
		return nil
	case e.Event == runCancelled && !r.stopped:
		list = append(list, event.Notice{Text: "stopped by " + e.who()})
	}
	r.result = e.resultOf(r.id, res)
	return append(list, *r.result)
}

// who returns the name of the client that caused the event and, in parentheses, how it sent the
// request.
func (e *runEnd) who() string {
	who := cmp.Or(e.By, "another client")
	if e.Via != "" {
		who += " (" + e.Via + ")"
	}
	return who
}

// resultOf returns the result of the run's agent. If there is none, it returns the result in the
// record of the end.
func (e *runEnd) resultOf(id string, res *event.Result) *event.Result {
	if res != nil {
		return res
	}
	res = &event.Result{SessionID: id, Reason: event.ReasonCompleted, Text: e.Text, CostUSD: e.Cost}
	if e.Event == runCancelled {
		res.Reason = event.ReasonInterrupted
	}
	if e.Usage != nil {
		res.Usage = *e.Usage
	}
	return res
}
