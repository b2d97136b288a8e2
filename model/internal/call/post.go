package call

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/version"
)

// Post sends the exchange's body to an address and returns the response. If the status is not a
// success, x keeps the first 64 KiB of the response; see [Exchange.Failed].
func (x *Exchange) Post(ctx context.Context, c *http.Client, address string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, x.Body.Reader())
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	req.ContentLength = x.Body.Size()
	// With GetBody, the client replaces a connection that the server closed while idle.
	req.GetBody = func() (io.ReadCloser, error) { return x.Body.Reader(), nil }
	res, err := c.Do(req)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	x.status, x.header = res.StatusCode, res.Header
	x.text, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(x.text))
	return res, nil
}

// Header returns the headers of a request to a provider: those that every request has, and those in
// more.
func Header(accept string, more http.Header) http.Header {
	h := http.Header{"User-Agent": {"holdfast/" + version.Current().Version}}
	for name, values := range more {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Set("Accept", accept)
	h.Set("Content-Type", "application/json")
	return h
}
