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

// Events yields the events of the records whose seq is greater than after (0 means all records),
// and then live events, until no turn is running. It can be called any number of times. Deltas are
// live events and are not replayed. A slow reader may miss deltas, but misses no records. The
// events of a sub-agent are in the log of its own session. They are yielded here only for a run of
// the daemon.
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

// isWorking reports whether a turn is running in this process.
func (r *Run) isWorking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turnRunning
}

// stream is the state of [Run.Events].
type stream struct {
	run   *Run
	sub   *feed.Subscription
	state recordevents.Reader
	seq   int64 // seq of the last emitted record

	stopAtHead bool // no turn is running in this process, so there are only recorded events
	atHead     bool // all recorded events were emitted
}

// pollInterval is how often Events checks whether another process that runs the session still
// works.
const pollInterval = time.Second

// next returns the next events, or io.EOF if no turn is running and all events were emitted.
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
	case e.Kind == feed.Gap: // the event that ends the stream may be among the lost events
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

// read returns the events of a record. In runs of the daemon, it may be a record of another
// session.
func (s *stream) read(r feed.Record) ([]event.Event, error) {
	if r.Session != s.run.id {
		return s.state.Relayed(r.Session, r.Agent, r.Record)
	}
	return s.state.Events(r.Record)
}

// poll returns io.EOF if no process works on the run and all events were emitted.
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
