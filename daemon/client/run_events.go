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

// daemonTimeout is how long a daemon that went away is waited for.
const daemonTimeout = 3 * time.Second

// openTimeout is how long what was asked before waits for the session's opening to be told.
const openTimeout = 3 * time.Second

// Events tells what the run's log says behind the record after (0: from the beginning), and then
// what happens, as it happens, until the run has ended. Deltas are told as they come, and are void
// when the run is read again. The error is that of a daemon that stays away, an *[Error]; how the
// run ended is told by [Run.Wait].
func (r *Run) Events(ctx context.Context, after int64) iter.Seq2[event.LogEvent, error] {
	return func(yield func(event.LogEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		f := &runFollower{run: r, seq: after, events: make(chan streamEvent), asking: newAsking(r)}
		r.mu.Lock()
		f.starting = r.begin != nil
		r.mu.Unlock()
		go f.read(ctx, after)
		defer func() {
			cancel()
			f.asking.close()
			for range f.events { // ends when Client.Events has
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

// streamEvent is an event of the daemon, or why there are no more.
type streamEvent struct {
	event *Event
	err   error
}

// runFollower is what is known of a run whose events are read.
type runFollower struct {
	run    *Run
	seq    int64
	events chan streamEvent
	asking *questionQueue

	starting   bool          // we begin the run: what comes before its opening is held back
	opened     bool          // its opening was told
	early      []event.Event // from before it
	live       bool          // what was on record was told
	heldEvents <-chan time.Time
	result     *event.Result // told with the end of the run
	lostAt     time.Time     // when the daemon went away; zero while it is there
	over       bool
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

// next waits for what comes next: an event, or an answer of ours.
func (f *runFollower) next(ctx context.Context) ([]event.Event, error) {
	select {
	case e, ok := <-f.events:
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !ok:
			return nil, &Error{Op: "events of " + f.run.id, Address: f.run.c.place, Err: errEnded}
		case e.err != nil:
			return nil, e.err
		}
		return f.convert(ctx, e.event)
	case <-f.heldEvents:
		return nil, f.askOpen(ctx)
	case a := <-f.asking.answers:
		return f.asking.answered(ctx, a)
	}
}

// convert returns what an event of the daemon tells.
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
	list, err := f.emit(ctx, f.inOrder(e.Events))
	switch {
	case err != nil:
	case e.CaughtUp:
		err = f.caughtUp(ctx, e)
	case e.Record != nil && e.Record.Kind == record.KindRunEvent && e.Record.Payload != nil:
		list, err = f.runEvent(list, e.Record.Payload)
	}
	return list, err
}

// caughtUp begins a run that is prepared, and ends the stream of one that does not run.
func (f *runFollower) caughtUp(ctx context.Context, e *Event) error {
	f.live = true
	f.run.mu.Lock()
	begin := f.run.begin
	f.run.mu.Unlock()
	switch {
	case begin != nil:
		f.heldEvents = time.After(openTimeout)
		return f.run.start(ctx)
	case f.starting: // by somebody else, who has this run, too
	case e.Status == "": // no run of the daemon
		f.over = true
	case e.Status.Ended():
		info, err := f.run.c.Run(ctx, f.run.id)
		if err != nil {
			return err
		}
		f.over = info.LastSeq <= e.Seq // else its end comes
	default:
		return f.askOpen(ctx)
	}
	return nil
}

// inOrder holds back what comes before the opening of a run that we begin, such as what hooks say at the
// start: an agent here tells it behind that.
func (f *runFollower) inOrder(list []event.Event) []event.Event {
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

// emit returns what is to be told of events, and puts questions.
func (f *runFollower) emit(ctx context.Context, list []event.Event) (told []event.Event, err error) {
	for _, e := range list {
		if e, err = f.asking.of(ctx, e, f.live); err != nil {
			return told, err
		}
		switch e := e.(type) {
		case nil:
		case event.Result: // it is told when the record of the end was read
			f.result = &e
		default:
			told = append(told, e)
		}
	}
	if f.opened && f.heldEvents != nil {
		err = f.askOpen(ctx)
	}
	return told, err
}

// askOpen takes up what was asked before the run was begun: those questions are not asked anew.
func (f *runFollower) askOpen(ctx context.Context) error {
	f.heldEvents = nil
	if f.run.ask == nil {
		return nil
	}
	page, err := f.run.c.Approvals(ctx, ListOptions{Limit: 500})
	if err != nil {
		return err
	}
	for _, a := range page.Items {
		if a.Session != f.run.id && a.RunID != f.run.id { // of an agent of the run, too
			continue
		}
		f.asking.add(ctx, a.Request)
	}
	return nil
}

// runEvent looks for the end of the run.
func (f *runFollower) runEvent(list []event.Event, payload []byte) ([]event.Event, error) {
	var e runEnd
	if err := json.Unmarshal(payload, &e); err != nil {
		return list, fmt.Errorf("the daemon's record cannot be read: %w", err)
	}
	switch e.Event {
	case runSteered:
		e.Via = ""
		return append(list, event.Notice{Text: "told by " + e.who() + ": " + e.Text}), nil
	case runCompleted, runFailed, runCancelled, runInterrupted:
		list = slices.Concat(f.early, list, f.run.ended(&e, f.result))
		f.early, f.result = nil, nil
		f.over = f.live
	}
	return list, nil
}
