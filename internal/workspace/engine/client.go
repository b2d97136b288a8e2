package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/version"
)

// client sends requests of Docker's API to one address.
type client struct {
	transport *http.Transport
	scheme    string // "http" or "https"
	host      string // the Host header
	base      string // path prefix of a tcp address, before the API's path
	api       string // API version, set by ping
}

// A statusError describes a response that reports an error, or an invalid request that was not
// sent.
type statusError struct {
	code int
	text string // the engine's message
}

func (e *statusError) Error() string { return e.text }

// A connectError means that there was no response.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

// maxErrorBody is the maximum number of bytes that are read from a response that reports an error.
const maxErrorBody = 64 << 10

// send sends a request under the API version's path. It returns only responses that report success,
// and the caller closes their body. For any other response it returns a [*statusError]. It follows
// no redirects.
func (c *client) send(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part == "" || part == "." || part == ".." { // the engine would take this for a different path
			return nil, &statusError{http.StatusBadRequest, "a name or one of its parts is empty, \".\" or \"..\""}
		}
	}
	res, err := c.roundTrip(ctx, method, "/v"+c.api+path, query, header, body)
	if err != nil {
		return nil, err
	}
	switch {
	case res.StatusCode/100 == 2, res.StatusCode == http.StatusNotModified, res.StatusCode == http.StatusSwitchingProtocols:
		return res, nil
	}
	defer res.Body.Close()
	return nil, responseError(res)
}

// roundTrip sends one request.
func (c *client) roundTrip(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	to := url.URL{Scheme: c.scheme, Host: c.host, Path: c.base + path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("User-Agent", "holdfast/"+version.Current().Version)
	res, err := c.transport.RoundTrip(req)
	switch {
	case err == nil:
		return res, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case c.scheme == "https" && (strings.Contains(err.Error(), "bad certificate") || strings.Contains(err.Error(), "handshake failure")):
		err = fmt.Errorf("the engine rejects the certificate in DOCKER_CERT_PATH: %w", err)
	case c.scheme == "http" && strings.Contains(err.Error(), "malformed HTTP response"):
		err = fmt.Errorf("the engine may require TLS (set DOCKER_CERT_PATH to the folder of the certificates): %w", err)
	}
	return nil, connectError{err}
}

// responseError returns the error for a response that does not report success.
func responseError(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return connectError{err}
	}
	text := strings.TrimSpace(string(body))
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		var response struct{ Message string }
		if json.Unmarshal(body, &response) == nil {
			text = strings.TrimSpace(response.Message)
		}
	}
	if text == "" {
		text = "the engine answered " + res.Status + " without a message"
	}
	return &statusError{res.StatusCode, text}
}

// get sends a GET request and decodes the JSON response.
func (c *client) get(ctx context.Context, path string, query url.Values, answer any) error {
	res, err := c.send(ctx, http.MethodGet, path, query, nil, nil)
	if err != nil {
		return err
	}
	return decode(res, answer)
}

// post sends a JSON body, which may be nil. It decodes the JSON response into answer unless answer
// is nil.
func (c *client) post(ctx context.Context, path string, query url.Values, question, answer any) error {
	body, header, err := encode(question)
	if err != nil {
		return err
	}
	res, err := c.send(ctx, http.MethodPost, path, query, header, body)
	if err != nil {
		return err
	}
	return decode(res, answer)
}

// delete sends a DELETE request.
func (c *client) delete(ctx context.Context, path string, query url.Values) error {
	res, err := c.send(ctx, http.MethodDelete, path, query, nil, nil)
	if err != nil {
		return err
	}
	return decode(res, nil)
}

// upload sends a tar archive and returns the response stream. The caller closes it.
func (c *client) upload(ctx context.Context, path string, query url.Values, tar io.Reader) (io.ReadCloser, error) {
	res, err := c.send(ctx, http.MethodPost, path, query, http.Header{"Content-Type": {"application/x-tar"}}, tar)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// upgrade sends a JSON request and returns the connection. Both sides can then write to it. The end
// of the context ends only the request, not the connection.
func (c *client) upgrade(ctx context.Context, path string, question any) (io.ReadWriteCloser, error) {
	body, header, err := encode(question)
	if err != nil {
		return nil, err
	}
	header.Set("Connection", "Upgrade")
	header.Set("Upgrade", "tcp")
	res, err := c.send(ctx, http.MethodPost, path, nil, header, body)
	if err != nil {
		return nil, err
	}
	if conn, ok := res.Body.(io.ReadWriteCloser); ok && res.StatusCode == http.StatusSwitchingProtocols {
		return conn, nil
	}
	_ = res.Body.Close()
	return nil, &statusError{res.StatusCode, "the engine answered " + res.Status + " instead of upgrading the connection"}
}

func encode(question any) (io.Reader, http.Header, error) {
	if question == nil {
		return http.NoBody, nil, nil
	}
	b, err := json.Marshal(question)
	if err != nil {
		return nil, nil, err
	}
	return bytes.NewReader(b), http.Header{"Content-Type": {"application/json"}}, nil
}

// decode reads a response to its end, so that the connection can be reused.
func decode(res *http.Response, answer any) error {
	defer res.Body.Close()
	if answer == nil {
		_, _ = io.CopyN(io.Discard, res.Body, 512) // the status code has already reported success
		return nil
	}
	b, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(b, answer)
	}
	if err != nil {
		return fmt.Errorf("read the engine's answer: %w", err)
	}
	return nil
}

// filters are the API's filter conditions. A container matches a key if it has any one of the key's
// values, except that it must have all values of "label".
type filters map[string]map[string]bool

func (f filters) add(key string, values ...string) filters {
	if f[key] == nil {
		f[key] = map[string]bool{}
	}
	for _, v := range values {
		f[key][v] = true
	}
	return f
}

func (f filters) labels(labels map[string]string) filters {
	for k, v := range labels {
		f.add("label", k+"="+v)
	}
	return f
}

// query returns the query parameter with the filters. It returns none if there are no filters.
func (f filters) query() url.Values {
	if len(f) == 0 {
		return url.Values{}
	}
	b, _ := json.Marshal(f) // the value has only strings and booleans, so encoding cannot fail
	return url.Values{"filters": {string(b)}}
}
