// Package wait waits for a duration that a context can cut short.
//
//	if err := wait.For(ctx, time.Second); err != nil {
//		return err // the context ended first
//	}
package wait

import (
	"context"
	"time"
)

// For returns nil after d, or ctx.Err() as soon as ctx ends.
// When d is not positive and ctx has ended, either result is possible.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cause is like [For], and returns the cause why ctx ended.
func Cause(ctx context.Context, d time.Duration) error {
	if For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}
