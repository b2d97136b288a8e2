package call

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

const (
	maxErrorBody = 64 << 10
	drainTime    = 50 * time.Millisecond
)

// Exchange is one request and, when it failed, what the server said to it. It
// is a middleware of the SDKs, below which nothing but the HTTP client lies.
type Exchange struct {
	Body *Body

	status int // of a failed exchange
	header http.Header
	text   []byte
}

// Do sends req with the exchange's body. It notes an answer that is not a
// success, of whose text it keeps the first 64 KiB.
func (x *Exchange) Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	req.ContentLength = x.Body.Size()
	req.Body = x.Body.Reader()
	// With it, a connection that the server closed while idle is replaced in silence.
	req.GetBody = func() (io.ReadCloser, error) { return x.Body.Reader(), nil }
	res, err := next(req)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	x.status, x.header = res.StatusCode, res.Header
	x.text, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(x.text))
	return res, nil
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
