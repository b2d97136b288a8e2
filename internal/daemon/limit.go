package daemon

import (
	"net"
	"time"
)

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

// rateLimitedConn is a connection from which no more is read than a client may send: frames
// that are no messages, and parts of frames, cost something too.
type rateLimitedConn struct {
	net.Conn
	bytes bucket
}

// Bytes that are read from a client: in a second, and at once.
const (
	connRate   = 4 << 20
	pacedBurst = 8 << 20
)

func newPaced(conn net.Conn) *rateLimitedConn {
	return &rateLimitedConn{conn, bucket{rate: connRate, burst: pacedBurst}}
}

// Read reads, and rests after it when that was too much.
func (p *rateLimitedConn) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 && !p.bytes.take(float64(n), time.Now()) {
		time.Sleep(time.Duration(float64(n) / connRate * float64(time.Second))) // the pause is the pace
	}
	return n, err
}
