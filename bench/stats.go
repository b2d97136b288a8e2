//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func micros(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func ratio(a, b time.Duration) string { return ratioText(share(a, b)) }

func share(a, b time.Duration) float64 { return float64(a) / float64(b) }

func ratioText(r float64) string { return fmt.Sprintf("%.2f ×", r) }

// middle returns the median; for an even number of figures it is the mean of the middle two.
func middle(f []float64) float64 { return interpolatedQuantile(f, 0.5) }

// interpolatedQuantile returns a quantile of a few figures, and interpolates if necessary.
func interpolatedQuantile(f []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(f))
	at := q * float64(len(s)-1)
	low := int(at)
	if low+1 == len(s) {
		return s[low]
	}
	return s[low] + (at-float64(low))*(s[low+1]-s[low])
}

func spread(d []time.Duration) string {
	return fmt.Sprintf("p50 %s, p99 %s", micros(median(d)), micros(quantile(d, 0.99)))
}

// quartiles describes a ratio by the median and the quartiles of its rounds.
func quartiles(r []float64, unit string) string {
	return fmt.Sprintf("%.2f %s (%.2f to %.2f)", middle(r), unit, interpolatedQuantile(r, 0.25), interpolatedQuantile(r, 0.75))
}

// goalAtMost returns a goal with a maximum, such as "≤ 1.5 ×"; goalAtLeast returns a goal with a minimum.
func goalAtMost(limit float64, unit string, got float64) string {
	return goal(fmt.Sprintf("≤ %g %s", limit, unit), got <= limit)
}

func goalAtLeast(limit float64, unit string, got float64) string {
	return goal(fmt.Sprintf("≥ %g %s", limit, unit), got >= limit)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// goal returns the goal of a row, and marks it if the row missed it.
func goal(text string, met bool) string {
	if met {
		return text
	}
	return text + " MISSED"
}
