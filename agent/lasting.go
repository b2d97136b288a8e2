package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// endTime is how long the store has, from the end of a context on, for what has happened to
// be put on record: an interrupt must not tear an append, and a store that is away must not
// keep an agent from ending.
const endTime = 5 * time.Second

var errEndTime = errors.New("there was no more time for it")

// lasting returns a context for the store that outlives ctx by endTime, and what words the
// error that came of it.
func lasting(ctx context.Context) (_ context.Context, done func(error) error) {
	ends := ctx
	if e, ok := ctx.Value(endingKey{}).(context.Context); ok {
		ends = e
	}
	if ends.Done() == nil {
		return context.WithoutCancel(ctx), func(err error) error { return err }
	}
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ends, func() { time.AfterFunc(endTime, func() { cancel(errEndTime) }) })
	return out, func(err error) error {
		stop()
		late := errors.Is(context.Cause(out), errEndTime)
		cancel(nil)
		if err != nil && late {
			return fmt.Errorf("what was done last may not be on record, as the store did not answer within %v: %w", endTime, err)
		}
		return err
	}
}

type endingKey struct{}

// whileOpen returns a context that does not end, for the store, but for [lasting] does with
// another one.
func whileOpen(ends context.Context) context.Context {
	return context.WithValue(context.Background(), endingKey{}, ends)
}

// atTheEnd returns such a context for what ends now.
func atTheEnd() context.Context {
	over, end := context.WithCancel(context.Background())
	end()
	return whileOpen(over)
}

// longLock is a lock that may be held over the store's work: for who has the loop.
type longLock chan struct{}

func (t longLock) Lock()   { t <- struct{}{} }
func (t longLock) Unlock() { <-t }

func (t longLock) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}
