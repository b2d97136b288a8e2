package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// endTimeout is how long an append may continue after its context has ended. An interrupt must not
// cancel an append, and an unavailable store must not prevent an agent from ending.
const endTimeout = 5 * time.Second

var errEndTimeout = errors.New("timed out at the end of the run")

// detachedContext returns a context for the store that outlives ctx by endTimeout. The caller passes
// the store's error through done, which explains a timeout.
func detachedContext(ctx context.Context) (_ context.Context, done func(error) error) {
	ends := ctx
	if e, ok := ctx.Value(endContextKey{}).(context.Context); ok {
		ends = e
	}
	if ends.Done() == nil {
		return context.WithoutCancel(ctx), func(err error) error { return err }
	}
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ends, func() { time.AfterFunc(endTimeout, func() { cancel(errEndTimeout) }) })
	return out, func(err error) error {
		stop()
		late := errors.Is(context.Cause(out), errEndTimeout)
		cancel(nil)
		if err != nil && late {
			return fmt.Errorf("the last records may not be stored; the store did not answer within %v: %w", endTimeout, err)
		}
		return err
	}
}

type endContextKey struct{}

// agentContext returns a context that never ends. Only [detachedContext] treats it as ended, when
// the context in the parameter has ended.
func agentContext(ends context.Context) context.Context {
	return context.WithValue(context.Background(), endContextKey{}, ends)
}

// endContext returns an agentContext that has already ended.
func endContext() context.Context {
	over, end := context.WithCancel(context.Background())
	end()
	return agentContext(over)
}

// ctxMutex is a lock with TryLock that may be held during store operations. The holder of the lock
// owns the loop.
type ctxMutex chan struct{}

func (t ctxMutex) Lock()   { t <- struct{}{} }
func (t ctxMutex) Unlock() { <-t }

func (t ctxMutex) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}
