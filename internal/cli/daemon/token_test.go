package daemon

import (
	"testing"
	"time"
)

func TestLifetime(t *testing.T) {
	for text, want := range map[string]time.Duration{"12h": 12 * time.Hour, "30d": 720 * time.Hour, "90m": 90 * time.Minute} {
		if d, err := lifetime(text); err != nil || d != want {
			t.Errorf("%s: %s, %v", text, d, err)
		}
	}
	for _, bad := range []string{"", "0s", "-1h", "d", "1.5d", "99999999999d", "never", "-3d"} {
		if d, err := lifetime(bad); err == nil {
			t.Errorf("%q: %s", bad, d)
		}
	}
}
