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

// Exchange is one request and, if it failed, the server's response.
type Exchange struct {
	Body *Body

	status int // of a failed exchange
	header http.Header
	text   []byte
}

// Failed reports whether the status is not a success.
func (x *Exchange) Failed() bool { return x.status != 0 }

// Client returns a copy of c, or of [http.DefaultClient], that follows no redirects, so that a key is only
// sent to the configured address.
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

// Finish completes the reading of an answer. It reads the rest of the body, so that the connection
// can be reused, and closes the body. If the server does not end its response, Finish takes 50 ms.
// cancel must cancel the request's context.
func Finish(body io.ReadCloser, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody))
	timer.Stop()
	_ = body.Close()
}
