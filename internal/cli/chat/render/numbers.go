package render

import (
	"fmt"
	"time"
)

// Elapsed formats a duration in few characters, so that a clock changes only once a second: "0.3 s", "12 s", "2 min 5 s".
func Elapsed(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// running is Elapsed for a clock that is redrawn: only whole seconds.
func running(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	}
	return Elapsed(d)
}

// count formats a number in few characters: "840", "12.4k", "200k", "2.5M".
func count(n int64) string {
	switch {
	case n >= 999_500:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 100_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return count(n) + " tokens"
}
