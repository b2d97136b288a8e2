package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := For(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestContextEnds(t *testing.T) {
	why := errors.New("stopped by the test")
	for _, tt := range []struct {
		name string
		wait func(context.Context, time.Duration) error
		want error
	}{
		{"For", For, context.DeadlineExceeded},
		{"Cause", Cause, why},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
				defer cancel()
				start := time.Now()
				if err := tt.wait(ctx, time.Hour); !errors.Is(err, tt.want) || time.Since(start) != time.Minute {
					t.Errorf("%v after %v, want %v", err, time.Since(start), tt.want)
				}
			})
		})
	}
}
