package daemon

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
)

// awaitPoll is how often a subscriber of a prepared run checks whether the run was started in
// another way than over a WebSocket.
const awaitPoll = 250 * time.Millisecond

// errDismissed is the reason for which the subscriptions of a prepared run end when the run is
// discarded.
var errDismissed = errors.New("the run was discarded before it started")

// startNotifier wakes subscribers of prepared runs.
type startNotifier struct {
	mu   sync.Mutex
	runs map[string]*start
}

type start struct {
	pending chan struct{} // closed when the run may have a new state
	users   int
}

// wait returns a channel that is closed when a run may have changed. The caller calls done when it
// no longer waits.
func (w *startNotifier) wait(run string) (news <-chan struct{}, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.runs[run]
	if s == nil {
		s = &start{pending: make(chan struct{})}
		if w.runs == nil {
			w.runs = map[string]*start{}
		}
		w.runs[run] = s
	}
	s.users++
	return s.pending, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users--; s.users == 0 && w.runs[run] == s {
			delete(w.runs, run)
		}
	}
}

// notify wakes the subscribers of a run.
func (w *startNotifier) notify(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.runs[run]; s != nil {
		close(s.pending)
		delete(w.runs, run)
	}
}

// await waits until a prepared run has started. It returns the feed from the beginning, so that
// nothing is missed. The caller closes it.
func (sub *subscription) await() (*feed.Subscription, error) {
	s := sub.c.s
	events, err := s.o.Hub.Await(sub.ctx, sub.run)
	if err != nil {
		return nil, err
	}
	if !sub.quiet {
		answer := wire.Envelope{RequestID: sub.requestID}
		sub.send(&wire.Subscribed{Envelope: answer, RunID: sub.run})
		sub.send(&wire.CaughtUp{Envelope: answer, RunID: sub.run, Status: api.StatusPending})
	}
	sub.quiet, sub.requestID = true, "" // this run was already reported as caught up
	poll := time.NewTicker(awaitPoll)
	defer poll.Stop()
	for missed := 0; ; {
		news, done := s.starts.wait(sub.run)
		_, err := s.o.Sessions.Get(sub.ctx, sub.run)
		started := err == nil
		if errors.Is(err, session.ErrNotFound) {
			err = s.runExists(sub.ctx, sub.run)
		}
		if errors.Is(err, errNoRun) {
			if missed++; missed > 1 { // the first miss is ignored, because the client that stopped the run may be about to send a message
				sub.send(cancelled(sub.run, ""))
				done()
				return events, errDismissed
			}
			err = nil
		}
		if started || err != nil {
			done()
			sub.noLog.Store(false)
			return events, err
		}
		select {
		case <-news:
		case <-poll.C:
		case <-sub.ctx.Done():
			err = sub.ctx.Err()
		}
		done()
		if err != nil {
			return events, err
		}
	}
}

// dismiss tells the subscribers of a prepared run that it will not start. This is not recorded.
func (s *sockets) dismiss(run, requestID string) {
	for _, sub := range s.subscriptionsOf(run) {
		sub.send(cancelled(run, requestID))
		if sub.noLog.Load() {
			sub.end()
			sub.remove()
		}
	}
}

func cancelled(run, requestID string) *wire.StrategyError {
	m := &wire.StrategyError{Error: wire.Problem{Code: wire.CodeCancelled, Message: "Run was cancelled"}}
	m.RequestID, m.RunID = requestID, run
	return m
}

// subscriptionsOf returns the subscriptions of a run.
func (s *sockets) subscriptionsOf(run string) []*subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*subscription
	for c := range s.open {
		c.mu.Lock()
		if sub := c.subs[run]; sub != nil {
			list = append(list, sub)
		}
		c.mu.Unlock()
	}
	return list
}
