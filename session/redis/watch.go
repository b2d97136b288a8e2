package redis

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// watchPoll is how often a watcher polls: a notification may be lost with a connection, and the
// user may not be allowed to subscribe.
const watchPoll = 2 * time.Second

// Watch implements [session.Watcher]. One connection receives notifications for all watchers of
// the store.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		wake, leave := s.subscriber.join(s.base + "news:" + id)
		defer leave()
		tick := time.NewTicker(watchPoll)
		defer tick.Stop()
		seen := after
		var was session.Meta
		for first := true; ; first = false {
			m, found, err := s.meta(ctx, "watch", id)
			another := !first && (m.Head < was.Head || !m.CreatedAt.Equal(was.CreatedAt))
			was = m
			switch {
			case err != nil:
			case !found || m.Deleted || another:
				err = &session.Error{Op: "watch", Session: id, Err: session.ErrNotFound}
			case m.Head > seen:
				seen = m.Head
				if !yield(seen, nil) {
					return
				}
			}
			if err != nil {
				if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
					err = context.DeadlineExceeded // the connection's timeout came from the caller's context
				}
				yield(0, err)
				return
			}
			select {
			case <-wake:
			case <-tick.C:
			case <-ctx.Done():
				yield(0, ctx.Err())
				return
			case <-s.closed:
				yield(0, s.closedError("watch", id))
				return
			}
		}
	}
}

// subscriber receives the messages that the scripts publish. Its goroutine runs from the first
// watcher until the store is closed.
type subscriber struct {
	store *Store

	mu       sync.Mutex
	sub      *redis.Subscriber // nil before the first watcher
	watchers map[string]map[chan struct{}]bool
	stopped  bool
	done     sync.WaitGroup
}

func (n *subscriber) start(s *Store) { n.store, n.watchers = s, map[string]map[chan struct{}]bool{} }

// join returns a channel that receives a value when the session may have changed, and a function
// that ends the subscription.
func (n *subscriber) join(channel string) (<-chan struct{}, func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wake := make(chan struct{}, 1)
	if n.stopped {
		return wake, func() {}
	}
	if n.watchers[channel] == nil {
		n.watchers[channel] = map[chan struct{}]bool{}
		if n.sub == nil {
			n.sub = n.store.db.Subscriber()
			n.done.Add(1)
			go n.listen(n.sub)
		}
		n.sub.Subscribe(channel)
	}
	n.watchers[channel][wake] = true
	return wake, func() { n.unsubscribe(channel, wake) }
}

func (n *subscriber) unsubscribe(channel string, wake chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.watchers[channel], wake)
	if len(n.watchers[channel]) == 0 {
		delete(n.watchers, channel)
		if !n.stopped {
			n.sub.Unsubscribe(channel)
		}
	}
}

// listen wakes the watchers of a channel at each message and after subscribing, because messages
// before that may have been missed.
func (n *subscriber) listen(sub *redis.Subscriber) {
	defer n.done.Done()
	for {
		channel, err := sub.Next()
		if err == nil {
			n.notify(channel)
			continue
		}
		if errors.Is(err, redis.ErrClosed) {
			return
		}
		select {
		case <-n.store.closed:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (n *subscriber) notify(channel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.watchers[channel] {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (n *subscriber) stop() {
	n.mu.Lock()
	n.stopped = true
	sub := n.sub
	n.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
	n.done.Wait()
}
