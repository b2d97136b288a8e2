package auth

import (
	"net/netip"
	"sync"
	"time"
)

// limiter limits wrong credentials by address: it accepts a burst, and then one every few seconds.
// Correct credentials are never delayed. Otherwise, a client that guesses could lock out all
// clients with the same address, such as 127.0.0.1. Secrets have 256 bits and cannot be guessed.
type limiter struct {
	clock func() time.Time

	mu     sync.Mutex
	byAddr map[netip.Prefix]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const (
	failBurst  = 20
	failEvery  = 3 * time.Second // one more failure is accepted per interval
	maxBuckets = 4096
)

// fail counts a failure. It returns how long to wait if there were too many.
func (l *limiter) fail(addr netip.Addr) (wait time.Duration, tooMany bool) {
	bits := 32
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		bits = 64 // the prefix of one customer's network
	}
	key, _ := addr.Prefix(bits)
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byAddr == nil {
		l.byAddr = map[netip.Prefix]bucket{}
	}
	b, known := l.byAddr[key]
	if !known {
		l.evict(now)
		b = bucket{failBurst, now}
	}
	b = b.refill(now, failBurst, failEvery)
	if b.left < 1 {
		l.byAddr[key] = b
		return time.Duration((1 - b.left) * float64(failEvery)), true
	}
	b.left--
	l.byAddr[key] = b
	return 0, false
}

func (b bucket) refill(now time.Time, burst float64, every time.Duration) bucket {
	if now.After(b.at) {
		b.left = min(burst, b.left+now.Sub(b.at).Seconds()/every.Seconds())
		b.at = now
	}
	return b
}

// evict removes addresses without recent failures; if all have recent failures, it removes some of
// them.
func (l *limiter) evict(now time.Time) {
	if len(l.byAddr) < maxBuckets {
		return
	}
	for key, b := range l.byAddr {
		if b.refill(now, failBurst, failEvery).left >= failBurst {
			delete(l.byAddr, key)
		}
	}
	for key := range l.byAddr {
		if len(l.byAddr) < maxBuckets {
			return
		}
		delete(l.byAddr, key)
	}
}
