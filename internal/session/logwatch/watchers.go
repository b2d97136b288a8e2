// Package logwatch notifies watchers when a session's log grows.
//
//	Append, Delete ──► Watchers.Notify ──┐
//	                                ├─► watchedSession ─► every watcher of it checks the head
//	Notifier (other programs) ──────┘
//
// A store has one [Watchers] for all its watchers. A woken watcher reads the head from the store
// itself, so an unnecessary wake-up is harmless. Watchers guarantees that no reported change is
// missed.
package logwatch

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// Notifier reports appends of other programs.
type Notifier interface {
	// Run works until ctx ends.
	Run(ctx context.Context, b *Watchers)
	// Enter is called before the first watcher of a session reads its head, Leave after the last
	// watcher has ended. Neither may call Watchers.
	Enter(id string)
	Leave(id string)
}

// Watchers are the watchers of a store's sessions. It is safe for concurrent use. The creator of
// Watchers must close it, unless it has no notifier.
type Watchers struct {
	store session.Store
	start func() Notifier // nil if only Notify reports changes

	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup
	reads chan struct{} // one value for each watcher that is reading

	mu       sync.Mutex
	notifier Notifier // set by the first watcher
	sessions map[string]*watchedSession
	closed   bool
}

// watchedSession is a session with watchers.
type watchedSession struct {
	watchers int
	head     int64         // the last head seen; -1 if the session is deleted
	wake     chan struct{} // closed when the head may have changed
}

// maxReads is the maximum number of watchers that read at the same time, and so the maximum number
// of connections that other readers cannot use.
const maxReads = 2

// New returns the watchers of a store. The function start creates the notifier when the first
// watcher starts; start may be nil.
func New(store session.Store, start func() Notifier) *Watchers {
	b := &Watchers{store: store, start: start, sessions: map[string]*watchedSession{}, reads: make(chan struct{}, maxReads)}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// Close ends all watchers with ErrClosed and waits for the notifier.
func (b *Watchers) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.work.Wait()
}

// Notify wakes the watchers of a session.
func (b *Watchers) Notify(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.sessions[id]; p != nil {
		p.notify()
	}
}

// Observed wakes the watchers of a session if its head differs from the last one seen; -1 means
// that the session is deleted.
func (b *Watchers) Observed(id string, head int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.sessions[id]; p != nil && p.head != head {
		p.head = head
		p.notify()
	}
}

// Watched lists the sessions that are watched.
func (b *Watchers) Watched() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.sessions))
}

// notify wakes the waiting watchers. The caller must hold b.mu.
func (p *watchedSession) notify() {
	close(p.wake)
	p.wake = make(chan struct{})
}

// Watch implements [session.Watcher] for the store.
func (b *Watchers) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		after := after // each range over the sequence starts again after the seq in after
		p, err := b.enter(id)
		if err != nil {
			yield(0, err)
			return
		}
		defer b.remove(id, p)
		var seen *session.Meta
		for {
			wake := b.next(p)
			m, err := b.metaOf(ctx, id, seen)
			if err != nil {
				yield(0, err)
				return
			}
			b.Observed(id, m.Head)
			if seen = m; m.Head > after {
				if after = m.Head; !yield(after, nil) {
					return
				}
				continue
			}
			select {
			case <-wake:
			case <-ctx.Done():
				yield(0, ctx.Err())
				return
			case <-b.ctx.Done():
				yield(0, closed(id))
				return
			}
		}
	}
}

func (b *Watchers) enter(id string) (*watchedSession, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, closed(id)
	}
	if b.notifier == nil && b.start != nil {
		b.notifier = b.start()
		b.work.Go(func() { b.notifier.Run(b.ctx, b) })
	}
	p := b.sessions[id]
	if p == nil {
		p = &watchedSession{wake: make(chan struct{})}
		b.sessions[id] = p
		if b.notifier != nil {
			b.notifier.Enter(id)
		}
	}
	p.watchers++
	return p, nil
}

func (b *Watchers) remove(id string, p *watchedSession) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.watchers--; p.watchers > 0 {
		return
	}
	delete(b.sessions, id)
	if b.notifier != nil {
		b.notifier.Leave(id)
	}
}

func (b *Watchers) next(p *watchedSession) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.wake
}

// metaOf returns the meta of a session. It returns ErrNotFound if the session is deleted or if
// another session now has the id; seen is the meta that was read before, or nil.
func (b *Watchers) metaOf(ctx context.Context, id string, seen *session.Meta) (*session.Meta, error) {
	select {
	case b.reads <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.ctx.Done():
		return nil, closed(id)
	}
	p, err := b.store.List(ctx, session.Query{ID: id})
	<-b.reads
	if err != nil {
		return nil, err
	}
	if len(p.Sessions) > 0 {
		m := &p.Sessions[0]
		same := seen == nil || m.Head >= seen.Head && m.CreatedAt.Equal(seen.CreatedAt)
		if !m.Deleted && same {
			return m, nil
		}
	}
	return nil, &session.Error{Op: "watch", Session: id, Err: session.ErrNotFound}
}

func closed(id string) error {
	return &session.Error{Op: "watch", Session: id, Err: session.ErrClosed}
}
