package session

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// Watcher is a store that can report at once that a log has grown, no matter which program
// appended.
type Watcher interface {
	// Watch yields the head of session id as soon as it is greater than after, and then each time
	// it has grown; it need not yield every head in between. It ends with the error of ctx, with
	// ErrNotFound if the session does not exist or is deleted, with ErrClosed if the store is
	// closed, or with another error of the store. It never misses a head that was acknowledged
	// before the call.
	Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error]
}

// watchPoll is the polling interval for a store that is not a [Watcher].
const watchPoll = 250 * time.Millisecond

// Watch yields the head of session id as soon as it is greater than after, and again each time it
// has grown, see [Watcher]. Other stores are polled four times a second, and at once if these
// Sessions append.
func (s *Sessions) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	if w, ok := As[Watcher](s.store); ok {
		return w.Watch(ctx, id, after)
	}
	return s.poll(ctx, id, after)
}

func (s *Sessions) poll(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		after := after // each range over the sequence starts again from after
		wake, leave := s.growth.watch(id)
		defer leave()
		tick := time.NewTicker(watchPoll)
		defer tick.Stop()
		for {
			p, err := s.store.List(ctx, Query{ID: id})
			switch {
			case err != nil:
			case len(p.Sessions) == 0 || p.Sessions[0].Deleted:
				err = &Error{Op: "watch", Session: id, Err: ErrNotFound}
			case p.Sessions[0].Head > after:
				after = p.Sessions[0].Head
				if !yield(after, nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
				return
			}
			select {
			case <-wake:
			case <-tick.C:
			case <-ctx.Done():
				yield(0, ctx.Err())
				return
			}
		}
	}
}

// growthNotifier wakes watchers of a store that is not a [Watcher].
type growthNotifier struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

// watch returns a channel that receives a value when a session has grown.
func (g *growthNotifier) watch(id string) (wake <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = map[string][]chan struct{}{}
	}
	g.waiting[id] = append(g.waiting[id], c)
	return c, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.waiting[id] = slices.DeleteFunc(g.waiting[id], func(o chan struct{}) bool { return o == c }); len(g.waiting[id]) == 0 {
			delete(g.waiting, id)
		}
	}
}

func (g *growthNotifier) notify(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.waiting[id] {
		select {
		case c <- struct{}{}:
		default: // a wake-up is already pending
		}
	}
}
