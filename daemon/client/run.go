package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrInterrupted is the end of a run whose daemon ended: what was done is on record, and
// [Client.Resume] continues it.
var ErrInterrupted = errors.New("the daemon ended while the run was under way; what was done is saved")

// Run is a run in the daemon. It has the methods of the runtime's Run, so a program that has
// one need not know where it works. Its methods may be called by any goroutine.
type Run struct {
	c   *Client
	id  string
	ask func(context.Context, approval.Request) (approval.Answer, error)

	mu      sync.Mutex
	begin   func(context.Context) error // nil: it has begun
	stopped bool                        // by us
	over    bool                        // its end was read
	result  *event.Result               // of the last turn
	err     error                       // that stopped it
}

// Prepare checks a spec and makes a run of it that begins to work when [Run.Events] or
// [Run.Wait] has read what is on record already: so its events can be read without missing any.
// env, "NAME=value", is its environment in place of the daemon's; nil is the daemon's. It is taken
// over the unix socket only, and never put on record.
func (c *Client) Prepare(ctx context.Context, spec runspec.Spec, env []string) (*Run, error) {
	if err := spec.Check(); err != nil {
		return nil, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	start := spec.Session.ID != ""
	request := &api.NewRun{Spec: spec, Environ: env, Start: &start}
	if start {
		switch _, err := c.Session(ctx, spec.Session.ID); {
		case err == nil: // it is continued, by the request that creates the run
			return c.handle(spec.Session.ID, func(ctx context.Context) error {
				_, err := c.CreateRun(ctx, request)
				return err
			}), nil
		case !isStatus(err, http.StatusNotFound):
			return nil, err
		}
		start = false
	}
	info, err := c.CreateRun(ctx, request)
	if err != nil {
		return nil, err
	}
	return c.handle(info.RunID, func(ctx context.Context) error {
		_, err := c.StartRun(ctx, info.RunID, spec.Prompt)
		return err
	}), nil
}

func (c *Client) handle(id string, begin func(context.Context) error) *Run {
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

// Start starts a run. It returns when the run is on record.
func (c *Client) Start(ctx context.Context, spec runspec.Spec) (*Run, error) {
	r, err := c.Prepare(ctx, spec, nil)
	if err != nil {
		return nil, err
	}
	return r, r.start(ctx)
}

// start has the run begin to work, once.
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

// Resume continues a session, by its id, as it is described on its record. Without a prompt it
// finishes what was under way.
func (c *Client) Resume(ctx context.Context, id, prompt string) (*Run, error) {
	if _, err := c.ContinueRun(ctx, id, prompt); err != nil {
		return nil, err
	}
	return c.handle(id, nil), nil
}

// Fork continues in a fork of a session, by its id; the session stays as it is. Nil options fork
// all of it, without the permission decisions that were made in it.
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

// Attach returns the run of a session, by its id.
func (c *Client) Attach(ctx context.Context, id string) (*Run, error) {
	s, err := c.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.handle(s.ID, nil), nil
}

// ID is the id of the run's session.
func (r *Run) ID() string { return r.id }

// SetAsker has ask answer the questions of the run and of its sub-agents while [Run.Events] or [Run.Wait]
// is read. It is called before. ask returns when its context ends: somebody else has answered, time is
// up, or the run was interrupted. Any other error denies, but [approval.ErrSuspend] leaves the question
// open and is the error that Events ends with; the run waits.
func (r *Run) SetAsker(ask func(ctx context.Context, q approval.Request) (approval.Answer, error)) {
	r.ask = ask
}

// Send gives the run more input, which reaches the very next model request while a turn is under way;
// otherwise it begins the next turn. Only text can be sent.
func (r *Run) Send(ctx context.Context, input ...transcript.Part) error {
	var lines []string
	for _, p := range input {
		text, ok := p.(transcript.Text)
		if !ok {
			return outcome.Invalid("only text can be sent to a run of a daemon", "name a file in the text instead")
		}
		lines = append(lines, text.Text)
	}
	text := strings.Join(lines, "\n")
	if err := r.start(ctx); err != nil {
		return err
	}
	info, err := r.c.Run(ctx, r.id)
	if err != nil {
		return err
	}
	if !info.Status.Ended() {
		_, err = r.c.SteerRun(ctx, r.id, text)
		if !isStatus(err, http.StatusConflict) { // else it has just ended
			return err
		}
	}
	r.mu.Lock()
	r.over, r.stopped = false, false
	r.mu.Unlock()
	_, err = r.c.ContinueRun(ctx, r.id, text)
	return err
}

// Answer answers a question of the run, by the question's id, and returns the answer that counts. Where
// somebody gave another answer before, the error is [approval.ErrAnswered], too.
func (r *Run) Answer(ctx context.Context, question string, a approval.Answer) (approval.Answer, error) {
	return r.c.answer(ctx, question, "", a)
}

// answer answers a question; a digest that is not "" must be the question's.
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

// Change changes the run's policy from the next decision on: its mode, or that a grant is revoked. It
// returns the change as it was asked for.
func (r *Run) Change(ctx context.Context, change policy.Change) (policy.Change, error) {
	var err error
	switch {
	case change.Mode != "":
		_, err = r.c.SetMode(ctx, r.id, change.Mode)
	case change.Revoke != "":
		err = r.c.Revoke(ctx, r.id, change.Revoke)
	default:
		err = outcome.Invalid("a mode can be changed and a grant revoked; nothing else of a policy", "Client.ChangePolicy adds path rules")
	}
	return change, err
}

// Interrupt ends the turn that is under way, which is told as its end. The run can be continued by [Run.Send].
func (r *Run) Interrupt(ctx context.Context) error {
	r.mu.Lock()
	r.stopped = true
	prepared := r.begin != nil
	r.mu.Unlock()
	_, err := r.c.StopRun(ctx, r.id)
	if prepared || isStatus(err, http.StatusNotFound, http.StatusConflict) {
		return nil // it has just ended, or never began
	}
	return err
}

// Stop ends the run: its session is free for others when Stop returns.
func (r *Run) Stop(ctx context.Context) error { return r.Interrupt(ctx) }

// Wait waits until the run has ended, and returns the result of its last turn: a failed model call is
// Result.Err. The error is what stopped the run: [ErrInterrupted], for example, or the end of ctx.
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

// runEnd is how a run ended, of the record that says it.
type runEnd struct {
	Event   string            `json:"event"`
	By      string            `json:"by"`
	Via     string            `json:"via"`
	Text    string            `json:"text"`
	Message string            `json:"message"`
	Usage   *transcript.Usage `json:"usage"`
	Cost    float64           `json:"cost_usd"`
}

// The values of Event that are looked for.
const (
	runSteered     = "steered"
	runCompleted   = "completed"
	runFailed      = "failed"
	runCancelled   = "cancelled"
	runInterrupted = "interrupted"
)

// ended notes the end of the run, with the result that its agent told, if any, and returns what is to be told of it.
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

// who is who asked for it, and by which way.
func (e *runEnd) who() string {
	who := cmp.Or(e.By, "somebody")
	if e.Via != "" {
		who += " (" + e.Via + ")"
	}
	return who
}

// resultOf is the run's result: that of its agent, or of a run whose agent had nothing to do what the
// record of the end says.
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
