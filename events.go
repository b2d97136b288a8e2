package holdfast

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
)

// Events tells what the run's log says behind the record after (0: from the beginning), and then
// what happens, as it happens, until no turn is under way. It may be called any number of times.
// Deltas are told as they come, and are void when the run is read again; a slow reader misses
// deltas and no records. Events of sub-agents are in the logs of their own sessions, which only
// the log of a daemon's run relays.
func (r *Run) Events(ctx context.Context, after int64) iter.Seq2[event.LogEvent, error] {
	return func(yield func(event.LogEvent, error) bool) {
		sub, err := r.rt.parts.Hub.Subscribe(ctx, r.id, after)
		if err != nil {
			yield(event.LogEvent{}, err)
			return
		}
		defer sub.Close()
		s := stream{run: r, sub: sub, seq: after, stopAtHead: !r.isWorking()}
		for {
			list, err := s.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(event.LogEvent{}, err)
				return
			}
			for _, e := range list {
				if !yield(event.LogEvent{Seq: s.seq, Event: e}, nil) {
					return
				}
			}
		}
	}
}

// isWorking reports whether a turn is under way here.
func (r *Run) isWorking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turnRunning
}

// stream is what [Run.Events] reads.
type stream struct {
	run   *Run
	sub   *feed.Subscription
	state recordevents.Reader
	seq   int64 // of the last record told

	stopAtHead bool // no turn is under way here: what is on record is all there is
	atHead     bool // what was on record was told
}

// pollInterval is how often a run of another process is looked at: it may have been killed.
const pollInterval = time.Second

// next are the events that come next; io.EOF when no turn is under way and all was told.
func (s *stream) next(ctx context.Context) ([]event.Event, error) {
	wait, stop := ctx, func() {}
	if s.run.agent == nil && s.atHead {
		wait, stop = context.WithTimeout(ctx, pollInterval)
	}
	e, err := s.sub.Next(wait)
	stop()
	switch {
	case err != nil && ctx.Err() == nil && wait.Err() != nil:
		return nil, s.poll(ctx)
	case err != nil:
		return nil, err
	case e.Kind == feed.CaughtUp:
		s.atHead = true
		if s.run.agent != nil && s.stopAtHead {
			return nil, io.EOF
		}
		return nil, nil
	case e.Kind == feed.Gap: // the end of the work may be among what was lost
		s.atHead, s.stopAtHead = false, !s.run.isWorking()
		return nil, nil
	case e.Kind == feed.Delta && e.Delta == nil:
		return nil, io.EOF
	case e.Kind == feed.Delta:
		return []event.Event{e.Delta}, nil
	}
	s.seq = e.Seq
	var list []event.Event
	for _, rec := range e.Records {
		more, err := s.read(rec)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// read returns the events of a record: the daemon's runs relay those of other sessions.
func (s *stream) read(r feed.Record) ([]event.Event, error) {
	if r.Session != s.run.id {
		return s.state.Relayed(r.Session, r.Agent, r.Record)
	}
	return s.state.Events(r.Record)
}

// poll returns io.EOF when nobody works on a run of another process, and all of it was told.
func (s *stream) poll(ctx context.Context) error {
	held, err := s.run.rt.Sessions().Lease(ctx, s.run.id)
	if err != nil || held != nil {
		return err
	}
	m, err := s.run.rt.Sessions().Get(ctx, s.run.id)
	if err == nil && m.Head <= s.seq {
		return io.EOF
	}
	return err
}
