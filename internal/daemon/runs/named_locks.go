package runs

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// namedLocks are mutual-exclusion locks by name. A holder may wait for the store, so waiting for a
// lock ends with its context.
type namedLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the lock is free
}

// lock acquires a lock, or gives up when ctx ends. The caller releases it by calling the result.
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

// turnTime is how long a request waits for a lock.
const turnTime = 30 * time.Second

// lockForRequest acquires a lock for a request, whose client waits for the answer, and gives up
// after turnTime.
func (t *namedLocks) lockForRequest(ctx context.Context, name string) (release func(), err error) {
	ctx, stop := withWaitLimit(ctx)
	defer stop()
	return t.lock(ctx, name)
}

// withWaitLimit returns a ctx that limits how long a request waits for others to finish with the
// store.
func withWaitLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, turnTime, &Error{
		Code: wire.CodeUnavailable, Message: "an agent of the run is being created, or the store is slow", Tip: "try again in a few seconds",
	})
}

// making is the lock for creating an agent of a run and for changing its policy, so that no agent
// misses a change while it is created.
func (x *run) making() string { return "make " + x.id }

// relayTurn is the lock for relaying records of a run that is not active, and for starting it.
func relayTurn(id string) string { return "relay " + id }
