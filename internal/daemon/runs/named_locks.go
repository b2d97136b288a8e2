package runs

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// namedLocks are mutual-exclusion locks by name. The holder of a lock may wait for the store, so a
// caller that waits for the lock stops waiting when its context ends.
type namedLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the lock is free
}

// lock acquires a lock. It gives up when ctx ends. The caller calls the returned function to
// release the lock.
func (t *namedLocks) lock(ctx context.Context, name string) (release func(), err error) {
	for {
		t.mu.Lock()
		busy := t.busy[name]
		if busy == nil {
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			free := make(chan struct{})
			t.busy[name] = free
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, name)
				t.mu.Unlock()
				close(free)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lockTimeout is how long a request waits for a lock.
const lockTimeout = 30 * time.Second

// lockForRequest acquires a lock for a request whose client waits for the answer. It gives up after
// lockTimeout.
func (t *namedLocks) lockForRequest(ctx context.Context, name string) (release func(), err error) {
	ctx, stop := withWaitLimit(ctx)
	defer stop()
	return t.lock(ctx, name)
}

// withWaitLimit returns a ctx that ends when a request has waited too long for other requests to
// finish with the store.
func withWaitLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, lockTimeout, &Error{
		Code: wire.CodeUnavailable, Message: "an agent of the run is being created, or the store is slow", Tip: "try again in a few seconds",
	})
}

// agentLockName returns the name of the lock that is held while an agent of the run is created and while
// the run's policy is changed. So an agent that is being created misses no change.
func (x *run) agentLockName() string { return "make " + x.id }

// relayLockName returns the name of the lock that is held while the records of an inactive run are
// relayed, and while the run is started.
func relayLockName(id string) string { return "relay " + id }
