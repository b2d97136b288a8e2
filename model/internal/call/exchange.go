package call

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	maxErrorBody = 64 << 10
	drainTime    = 50 * time.Millisecond
)

// Exchange is one request and, if it failed, what the server answered.
type Exchange struct {
	Body *Body

	status int // of a failed exchange
	header http.Header
	text   []byte
}

// Failed reports whether the server answered with anything but a success.
func (x *Exchange) Failed() bool { return x.status != 0 }

// Client returns a copy of c, or of [http.DefaultClient], that follows no
// redirect: a key goes to the address that was configured and nowhere else.
func Client(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	own := *c
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &own
}

// Finish ends the reading of a complete answer: it reads the end of the body, so
// that the connection can be used again, and closes it. A server that does not
// end its answer costs 50 ms. cancel must cancel the request's context.
func Finish(body io.ReadCloser, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody))
	timer.Stop()
	_ = body.Close()
}
