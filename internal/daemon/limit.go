package daemon

import (
	"net"
	"time"
)

// bucket is a token bucket: it fills at rate tokens per second up to burst, and each message takes some.
// It is not safe for concurrent use. The zero bucket is full.
type bucket struct {
	rate, burst float64
	spent       float64 // tokens missing from burst
	at          time.Time
}

// take takes n tokens and reports whether there were enough. A full bucket gives any number, so that no
// message is too large for it.
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

// rateLimitedConn limits how fast bytes are read from a client, so that incomplete frames and frames that
// are not messages are limited, too.
type rateLimitedConn struct {
	net.Conn
	bytes bucket
}

// Bytes read from a client: per second, and at once.
const (
	connRate  = 4 << 20
	connBurst = 8 << 20
)

func newRateLimited(conn net.Conn) *rateLimitedConn {
	return &rateLimitedConn{conn, bucket{rate: connRate, burst: connBurst}}
}

// Read reads, and sleeps afterwards if the client is above its rate.
func (p *rateLimitedConn) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 && !p.bytes.take(float64(n), time.Now()) {
		time.Sleep(time.Duration(float64(n) / connRate * float64(time.Second))) // sleeping limits the rate
	}
	return n, err
}
