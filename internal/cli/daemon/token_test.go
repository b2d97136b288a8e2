package daemon

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func TestTokenState(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *time.Time { v := now.Add(-ago); return &v }
	for want, token := range map[string]api.Token{
		"never used":             {},
		"used just now":          {Used: at(59 * time.Second)},
		"used 5 min ago":         {Used: at(5 * time.Minute)},
		"used 2 h ago, expired":  {Used: at(2 * time.Hour), Expires: at(time.Hour)},
		"used just now, expired": {Used: at(0), Expires: at(0)},
	} {
		if got := tokenState(token, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

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
