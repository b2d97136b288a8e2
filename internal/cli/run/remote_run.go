package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/session"
)

// remoteRun shows a run that happens in the daemon.
//
//	events ──► view
//	questions ─► the person ──► Decide      (first answer wins, from wherever)
//	Ctrl-C ──► StopRun
type remoteRun struct {
	p       *command.Program
	d       *client.Client
	view    view.View
	target  *target
	request *api.NewRun
	early   []event.Event // from before the opening was told
	opened  bool
	result  *event.Result
	verbose bool
	again   string

	person  *question.Asker // nil: nobody sits here
	onAsk   settings.OnAsk
	asked   map[string]*openQuestion // by id
	waiting []*openQuestion          // the first one is on the screen
	answers chan personSaid

	lostAt   time.Time // when the daemon went away; zero while it is there
	prepared bool      // the run is not started yet
	stopped  bool
}

// toldEvent is an event of the daemon, or why there are no more.
type toldEvent struct {
	event *client.Event
	err   error
}

// openPatience is how long what was asked before waits for the session's opening to be told.
const openPatience = 3 * time.Second

// run starts the run there, or goes on with it, and shows it until it ends.
func (r *remoteRun) run(ctx context.Context) (outcome.Outcome, error) {
	away, leave := context.WithCancelCause(context.WithoutCancel(ctx)) // an interrupt is passed on, and its end awaited
	defer leave(nil)
	r.answers = make(chan personSaid)
	told := make(chan toldEvent)
	follow := func(after int64) {
		go func() {
			defer close(told)
			for e, err := range r.d.Events(away, r.target.id, after) {
				select {
				case told <- toldEvent{e, err}:
				case <-away.Done():
					return
				}
			}
		}()
	}
	defer func() {
		leave(nil)
		r.closeQuestions()
		for range told { // ends when Events has
		}
	}()
	if r.target.meta != nil {
		follow(r.target.meta.Head)
		if err := r.caughtUp(ctx, told); err != nil {
			return outcome.Of(err), err
		}
	}
	if _, err := r.d.CreateRun(ctx, r.request); err != nil {
		if r.target.meta == nil {
			close(told)
		}
		return outcome.Of(err), err
	}
	if r.target.meta == nil {
		follow(0) // it starts when its events are caught up with, so that none is missed
	}
	return r.loop(ctx, away, told)
}

// caughtUp waits until events come as they happen.
func (r *remoteRun) caughtUp(ctx context.Context, told <-chan toldEvent) error {
	for {
		select {
		case e, ok := <-told:
			switch {
			case !ok:
				return r.gone(errors.New("its events ended"))
			case e.err != nil:
				return e.err
			case e.event.Lost:
				return r.gone(e.event.Err)
			case e.event.CaughtUp:
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// openQuestions takes up what was asked before the run goes on: those questions are
// not asked anew.
func (r *remoteRun) openQuestions(ctx context.Context) error {
	page, err := r.d.Approvals(ctx, client.Query{Limit: 500})
	if err != nil {
		return err
	}
	for _, a := range page.Items {
		if a.Session != r.target.id && a.RunID != r.target.id { // of an agent of the run, too
			continue
		}
		if err := r.show(ctx, []event.Event{event.ApprovalAsked{Question: a.Question}}); err != nil {
			return err
		}
	}
	return nil
}

func (r *remoteRun) loop(ctx, away context.Context, told <-chan toldEvent) (outcome.Outcome, error) {
	interrupt := ctx.Done()
	var late <-chan time.Time // what was asked before is shown, though nothing was told of the opening
	if r.target.meta != nil {
		late = time.After(openPatience)
	}
	for {
		if late != nil && r.opened {
			late = nil
			if err := r.openQuestions(away); err != nil {
				return outcome.Of(err), err
			}
		}
		select {
		case e, ok := <-told:
			if !ok {
				err := r.gone(errors.New("its events ended"))
				return outcome.Of(err), err
			}
			if out, done, err := r.told(ctx, away, e); done || err != nil {
				return out, err
			}
		case <-late:
			late = nil
			if err := r.openQuestions(away); err != nil {
				return outcome.Of(err), err
			}
		case a := <-r.answers:
			if err := r.answered(away, a); err != nil {
				return outcome.Of(err), err
			}
		case <-interrupt:
			interrupt = nil
			if err := r.stop(away); err != nil {
				return outcome.Of(err), err
			}
		}
	}
}

// stop cancels the run; its end is told by its record.
func (r *remoteRun) stop(ctx context.Context) error {
	r.stopped = true
	_, err := r.d.StopRun(ctx, r.target.id)
	if p, ok := errors.AsType[*api.Problem](err); ok && (p.Status == 404 || p.Status == 409) {
		return nil // it has just ended
	}
	return err
}

// told takes what the daemon tells. done: the run has ended.
func (r *remoteRun) told(ctx, away context.Context, e toldEvent) (out outcome.Outcome, done bool, err error) {
	if e.err != nil {
		return outcome.Of(e.err), true, e.err
	}
	if err := r.presence(e.event); err != nil {
		return outcome.Of(err), true, err
	}
	if e.event.Record != nil && e.event.Err != nil {
		return outcome.Failed, true, e.event.Err
	}
	if err := r.show(away, r.inOrder(e.event.Events)); err != nil {
		return outcome.Of(err), true, err
	}
	switch {
	case e.event.CaughtUp && r.prepared:
		r.prepared = false
		if _, err := r.d.StartRun(ctx, r.target.id, r.request.Prompt); err != nil {
			return outcome.Of(err), true, err
		}
	case e.event.Deleted:
		err := &outcome.Failure{Message: "the session was deleted", Result: outcome.NotFound, Cause: session.ErrNotFound}
		return outcome.NotFound, true, err
	case e.event.Record != nil && e.event.Record.Kind == record.KindRunEvent && e.event.Record.Payload != nil:
		return r.runEvent(ctx, away, e.event.Record.Payload)
	}
	return out, false, nil
}

// inOrder holds back what comes before the opening, such as what hooks say at the start: an agent
// here tells it behind that.
func (r *remoteRun) inOrder(list []event.Event) []event.Event {
	if r.opened {
		return list
	}
	for i, e := range list {
		if o, ok := e.(event.SessionOpened); ok {
			if r.target.forked != "" { // by this command
				o.Forked, o.Created = r.target.forked, false
			}
			r.opened = true
			return slices.Concat([]event.Event{o}, r.early, list[:i], list[i+1:])
		}
	}
	r.early = append(r.early, list...)
	return nil
}

// presence notes when the daemon goes away and comes back.
func (r *remoteRun) presence(e *client.Event) error {
	switch {
	case !e.Lost:
		r.lostAt = time.Time{}
	case r.lostAt.IsZero():
		r.lostAt = time.Now()
		if r.verbose {
			r.p.Warn("the daemon does not answer: %v", rootOf(e.Err))
		}
	case time.Since(r.lostAt) > daemonPatience:
		return r.gone(e.Err)
	}
	return nil
}

// runEvent looks for the end of the run.
func (r *remoteRun) runEvent(ctx, away context.Context, payload []byte) (outcome.Outcome, bool, error) {
	var e wire.RunEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return outcome.Failed, true, fmt.Errorf("the daemon's record cannot be read: %w", err)
	}
	switch e.Event {
	case wire.RunSteered:
		return outcome.OK, false, r.show(away, []event.Event{event.Notice{Text: "told by " + cmp.Or(e.By, "somebody") + ": " + e.Text}})
	case wire.RunInterrupted:
		err := &outcome.Failure{
			Message: "the daemon ended while the run was under way; what was done is saved", Result: outcome.Interrupted,
			Advice: fmt.Sprintf("go on: holdfast run %s--resume %s", r.again, r.target.id),
		}
		return outcome.Interrupted, true, err
	case wire.RunCompleted, wire.RunFailed, wire.RunCancelled:
	default:
		return outcome.OK, false, nil
	}
	if e.Event == wire.RunFailed && r.result == nil {
		return outcome.Failed, true, &outcome.Failure{Message: e.Message, Result: outcome.Failed}
	}
	if e.Event == wire.RunCancelled && !r.stopped {
		who := cmp.Or(e.By, "somebody") + via(e.Via)
		if err := r.show(away, []event.Event{event.Notice{Text: "stopped by " + who}}); err != nil {
			return outcome.Failed, true, err
		}
	}
	res := r.ended(&e)
	r.unasked(&res)
	if err := r.view.Show(res); err != nil {
		return outcome.Failed, true, fmt.Errorf("write output: %w", err)
	}
	return command.Ending(ctx, &res), true, nil
}

// ended is the run's result: that of its agent, or of a run whose agent had nothing to do what the
// record of the end says.
func (r *remoteRun) ended(e *wire.RunEvent) event.Result {
	if r.result != nil {
		return *r.result
	}
	res := event.Result{SessionID: r.target.id, Reason: event.ReasonCompleted, Text: e.Text, CostUSD: e.Cost}
	if e.Event == wire.RunCancelled {
		res.Reason = event.ReasonInterrupted
	}
	if e.Usage != nil {
		res.Usage = *e.Usage
	}
	return res
}

func via(way string) string {
	if way == "" {
		return ""
	}
	return " (" + way + ")"
}

// show shows events, and puts questions.
func (r *remoteRun) show(ctx context.Context, list []event.Event) error {
	for _, e := range list {
		e, err := r.asking(ctx, e)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := r.view.Show(e); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// asking puts the question of an event, also of a sub-agent's, and returns what is to be shown
// of the event, or nil.
func (r *remoteRun) asking(ctx context.Context, e event.Event) (event.Event, error) {
	switch e := e.(type) {
	case event.SubagentEvent:
		of, err := r.asking(ctx, e.Event)
		if of == nil || err != nil {
			return nil, err
		}
		e.Event = of
		return e, nil
	case event.ApprovalAsked:
		if quiet, err := r.ask(ctx, e.Question); quiet || err != nil {
			return nil, err
		}
	case event.ApprovalResolved:
		return r.resolved(e), nil
	case event.Decided:
		r.undecided(&e.Decision)
		return e, nil
	case event.Result: // it is shown when the record that has it was read
		r.result = &e
		return nil, nil //nolint:nilnil // there is nothing to show yet
	}
	return e, nil
}

// errLeft is the end of a run here whose question stays open there.
func errLeft(q approval.Question) error {
	return &outcome.Failure{
		Message: approval.ErrLeave.Error(), Cause: approval.ErrLeave, Result: outcome.Approval,
		Advice: fmt.Sprintf("holdfast approvals show %s; the daemon goes on when it is answered", q.ID),
	}
}
