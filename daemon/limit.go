package daemon

import "time"

// bucket is a token bucket: it fills at rate tokens in a second up to burst, and a
// message takes some out. It is for one goroutine. The zero bucket is full.
type bucket struct {
	rate, burst float64
	spent       float64 // tokens that are missing from burst
	at          time.Time
}

// take takes n tokens out, or says that there are not as many. A full bucket gives
// whatever is asked for, so that no message is too great for it.
func (b *bucket) take(n float64, now time.Time) bool {
	if !b.at.IsZero() && now.After(b.at) {
		b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
	if b.spent > 0 && b.spent+n > b.burst {
		return false
	}
	b.spent += n
	return true
}
