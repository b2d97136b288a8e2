package runs

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// namedLocks are what one at a time has, by name. The store may be at work meanwhile, so whoever
// waits can give up.
type namedLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when it is free again
}

// lock waits for its turn, or for the end of ctx. The caller gives it back.
func (t *namedLocks) lock(ctx context.Context, name string) (give func(), err error) {
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

// turnTime is how long a request waits for its turn.
const turnTime = 30 * time.Second

// soon is take for a request: somebody waits for its answer.
func (t *namedLocks) soon(ctx context.Context, name string) (give func(), err error) {
	ctx, stop := withWaitLimit(ctx)
	defer stop()
	return t.lock(ctx, name)
}

// withWaitLimit is ctx for waiting, on behalf of a request, until others are through with the store.
func withWaitLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, turnTime, &Error{
		Code: wire.CodeUnavailable, Message: "an agent of the run is being created, or the store is slow", Tip: "try again in a few seconds",
	})
}

// making is the name of the turn to make an agent of a run, or to change its policy, which no
// agent that is made meanwhile may miss.
func (x *run) making() string { return "make " + x.id }

// relayTurn is the name of the turn to relay for a run that does not run, and to begin it.
func relayTurn(id string) string { return "relay " + id }
