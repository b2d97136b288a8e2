package daemon

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u usage
		u.touch()
		for _, tt := range []struct {
			states []http.ConnState
			want   time.Duration // after a minute
		}{
			{nil, time.Minute},
			{[]http.ConnState{http.StateNew, http.StateActive, http.StateIdle}, 0},
			{[]http.ConnState{http.StateClosed}, time.Minute},
			{[]http.ConnState{http.StateNew, http.StateNew, http.StateHijacked}, 0},
			{[]http.ConnState{http.StateClosed}, time.Minute},
		} {
			for _, s := range tt.states {
				u.state(s)
			}
			time.Sleep(time.Minute) // the test's clock
			if got := u.unused(); got != tt.want {
				t.Errorf("after %v: %v, want %v", tt.states, got, tt.want)
			}
			u.touch()
		}
	})
}
