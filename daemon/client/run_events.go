package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// daemonTimeout is how long a client waits for a daemon that does not answer.
const daemonTimeout = 3 * time.Second

// openTimeout is how long open approvals wait for [event.SessionOpened].
const openTimeout = 3 * time.Second

// Events yields the events of the records of the run after a seq (0: all events). Then it yields
// live events until the run has ended. Deltas are yielded as they arrive; a later read of the run
// does not repeat them. The error is an *[Error] if the daemon stays unreachable. [Run.Wait]
// returns how the run ended.
func (r *Run) Events(ctx context.Context, after int64) iter.Seq2[event.LogEvent, error] {
	return func(yield func(event.LogEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		f := &runFollower{run: r, seq: after, events: make(chan streamEvent), approvals: newApprovalQueue(r)}
		r.mu.Lock()
		f.starting = r.begin != nil
		r.mu.Unlock()
		go f.read(ctx, after)
		defer func() {
			cancel()
			f.approvals.close()
			for range f.events { // the channel is closed when Client.Events has ended
			}
		}()
		for !f.over {
			list, err := f.next(ctx)
			for _, e := range list {
				if !yield(event.LogEvent{Seq: f.seq, Event: e}, nil) {
					return
				}
			}
			if err != nil {
				yield(event.LogEvent{}, err)
				return
			}
		}
	}
}

// streamEvent is an event of the daemon, or the error that ended the stream.
type streamEvent struct {
	event *Event
	err   error
}

// runFollower is the state of a client that reads the events of a run.
type runFollower struct {
	run       *Run
	seq       int64
	events    chan streamEvent
	approvals *approvalQueue

	starting  bool          // this program starts the run: events before its opening are held back
	opened    bool          // its opening was yielded
	early     []event.Event // events before the opening
	live      bool          // all earlier records were yielded
	openTimer <-chan time.Time
	result    *event.Result // yielded together with the end of the run
	lostAt    time.Time     // when the connection was lost; zero while connected
	over      bool
}

func (f *runFollower) read(ctx context.Context, after int64) {
	defer close(f.events)
	for e, err := range f.run.c.Events(ctx, f.run.id, after) {
		select {
		case f.events <- streamEvent{e, err}:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for an event of the run, or for an answer from this program.
func (f *runFollower) next(ctx context.Context) ([]event.Event, error) {
	select {
	case e, ok := <-f.events:
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !ok:
			return nil, &Error{Op: "events of " + f.run.id, Address: f.run.c.address, Err: errEnded}
		case e.err != nil:
			return nil, e.err
		}
		return f.convert(ctx, e.event)
	case <-f.openTimer:
		return nil, f.askOpen(ctx)
	case a := <-f.approvals.answers:
		return f.approvals.answered(ctx, a)
	}
}

// convert returns the run events for an event of the daemon.
func (f *runFollower) convert(ctx context.Context, e *Event) ([]event.Event, error) {
	f.seq = e.Seq
	switch {
	case e.Lost && f.lostAt.IsZero():
		f.lostAt = time.Now()
		return nil, nil
	case e.Lost && time.Since(f.lostAt) <= daemonTimeout:
		return nil, nil
	case e.Lost:
		return nil, e.Err
	case e.Record != nil && e.Err != nil:
		return nil, e.Err
	case e.Deleted:
		return nil, fmt.Errorf("the session was deleted: %w", session.ErrNotFound)
	}
	f.lostAt = time.Time{}
	list, err := f.emit(ctx, f.holdEarly(e.Events))
	switch {
	case err != nil:
	case e.CaughtUp:
		err = f.caughtUp(ctx, e)
	case e.Record != nil && e.Record.Kind == record.KindRunEvent && e.Record.Payload != nil:
		list, err = f.runEvent(list, e.Record.Payload)
	}
	return list, err
}

// caughtUp starts a prepared run. If the run is not running, caughtUp ends the stream.
func (f *runFollower) caughtUp(ctx context.Context, e *Event) error {
	f.live = true
	f.run.mu.Lock()
	begin := f.run.begin
	f.run.mu.Unlock()
	switch {
	case begin != nil:
		f.openTimer = time.After(openTimeout)
		return f.run.start(ctx)
	case f.starting: // the run was started after Events began to read it
	case e.Status == "": // not a run of the daemon
		f.over = true
	case e.Status.Ended():
		info, err := f.run.c.Run(ctx, f.run.id)
		if err != nil {
			return err
		}
		f.over = info.LastSeq <= e.Seq // otherwise its end follows
	default:
		return f.askOpen(ctx)
	}
	return nil
}

// holdEarly delays events, such as messages of hooks, that come before the opening of a run that this
// program starts. An agent without a daemon emits such events after its opening.
func (f *runFollower) holdEarly(list []event.Event) []event.Event {
	if f.opened || !f.starting {
		return list
	}
	for i, e := range list {
		if _, ok := e.(event.SessionOpened); ok {
			f.opened = true
			return slices.Concat([]event.Event{e}, f.early, list[:i], list[i+1:])
		}
	}
	f.early = append(f.early, list...)
	return nil
}

// emit returns the events to yield, and queues approval requests.
func (f *runFollower) emit(ctx context.Context, list []event.Event) (out []event.Event, err error) {
	for _, e := range list {
		if e, err = f.approvals.queueAsked(ctx, e, f.live); err != nil {
			return out, err
		}
		switch e := e.(type) {
		case nil:
		case event.Result: // the result is yielded with the record of the end
			f.result = &e
		default:
			out = append(out, e)
		}
	}
	if f.opened && f.openTimer != nil {
		err = f.askOpen(ctx)
	}
	return out, err
}

// askOpen queues approvals that were pending before the run started.
func (f *runFollower) askOpen(ctx context.Context) error {
	f.openTimer = nil
	if f.run.ask == nil {
		return nil
	}
	page, err := f.run.c.Approvals(ctx, ListOptions{Limit: 500})
	if err != nil {
		return err
	}
	for _, a := range page.Items {
		if a.Session != f.run.id && a.RunID != f.run.id { // the approval does not belong to the run or one of its agents
			continue
		}
		f.approvals.add(ctx, a.Request)
	}
	return nil
}

// runEvent processes an event of the daemon about the run: a message from another client, or the
// end of the run.
func (f *runFollower) runEvent(list []event.Event, payload []byte) ([]event.Event, error) {
	var e runEnd
	if err := json.Unmarshal(payload, &e); err != nil {
		return list, fmt.Errorf("cannot decode the daemon's record: %w", err)
	}
	switch e.Event {
	case runSteered:
		e.Via = ""
		return append(list, event.Notice{Text: "message from " + e.who() + ": " + e.Text}), nil
	case runCompleted, runFailed, runCancelled, runInterrupted:
		list = slices.Concat(f.early, list, f.run.ended(&e, f.result))
		f.early, f.result = nil, nil
		f.over = f.live
	}
	return list, nil
}
