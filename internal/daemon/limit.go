package daemon

import (
	"net"
	"time"
)

// bucket is a token bucket: it fills at rate tokens per second up to burst tokens, and each message
// takes some of them. It is not safe for concurrent use. The zero value is a full bucket.
type bucket struct {
	rate, burst float64
	spent       float64 // tokens missing from burst
	at          time.Time
}

// take takes n tokens from the bucket and reports whether it had enough. A full bucket gives any
// number of tokens, so no message is too large for it.
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

// rateLimitedConn limits how fast the daemon reads bytes from a client. So it also limits
// incomplete frames and frames that are not messages.
type rateLimitedConn struct {
	net.Conn
	bytes bucket
}

// These limit the bytes that are read from a client: per second, and at once.
const (
	connRate  = 4 << 20
	connBurst = 8 << 20
)

func newRateLimited(conn net.Conn) *rateLimitedConn {
	return &rateLimitedConn{conn, bucket{rate: connRate, burst: connBurst}}
}

// Read reads from the client. If the client is above its rate, Read sleeps afterwards.
func (p *rateLimitedConn) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 && !p.bytes.take(float64(n), time.Now()) {
		time.Sleep(time.Duration(float64(n) / connRate * float64(time.Second))) // sleeping limits the rate
	}
	return n, err
}
