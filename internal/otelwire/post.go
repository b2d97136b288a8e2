package otelwire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
)

// Target is the destination of requests.
type Target struct {
	URL     string
	Headers map[string]string // these values may be secret, so errors do not repeat them
	Gzip    bool
	Client  *http.Client
}

// Poster sends OTLP requests over HTTP to one address. It is safe for concurrent use.
type Poster struct {
	to     *Target
	what   string // the content of a request, for errors
	secret *strings.Replacer
	closed atomic.Bool
}

const (
	minWait, maxWait = 5 * time.Second, 30 * time.Second
	maxRetryTime     = time.Minute
	maxResponse      = 1 << 20 // bytes
	protobufType     = "application/x-protobuf"
)

var errClosed = errors.New("it was shut down")

// NewPoster returns a poster. The parameter what says what the requests contain, for example
// "spans".
func NewPoster(t *Target, what string) *Poster {
	const shortest = 4 // a value shorter than this cannot be secret and would match ordinary text
	var hide []string
	for _, v := range t.Headers {
		for _, word := range append(strings.Fields(v), v) {
			if len(word) >= shortest {
				hide = append(hide, word, "…")
			}
		}
	}
	return &Poster{to: t, what: what, secret: strings.NewReplacer(hide...)}
}

// retryableError is a temporary error.
type retryableError struct {
	after time.Duration // the wait that the collector requested, or 0
	err   error
}

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// Post sends a request. While the collector reports that it is busy, Post retries for up to a
// minute, but not past the end of ctx.
func (p *Poster) Post(ctx context.Context, message []byte) error {
	body, err := p.body(message)
	if err != nil {
		return err
	}
	start, spread := time.Now(), minWait
	for {
		err := p.once(ctx, body)
		var later *retryableError
		if !errors.As(err, &later) {
			return err
		}
		pause := max(later.after, spread/2+rand.N(spread)) //nolint:gosec // only a spread of requests
		spread = min(spread+spread/2, maxWait)
		deadline := start.Add(maxRetryTime)
		if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
			deadline = end
		}
		if time.Now().Add(pause).After(deadline) {
			return err
		}
		if cause := wait.Cause(ctx, pause); cause != nil {
			return errors.Join(cause, err)
		}
	}
}

func (p *Poster) body(message []byte) ([]byte, error) {
	if !p.to.Gzip {
		return message, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(message); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// once sends a request one time.
func (p *Poster) once(ctx context.Context, body []byte) error {
	if p.closed.Load() {
		return errClosed
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "holdfast")
	for k, v := range p.to.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", protobufType)
	if p.to.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := p.to.Client.Do(req)
	var passing *url.Error
	switch {
	case errors.As(err, &passing) && passing.Temporary() && ctx.Err() == nil:
		return &retryableError{err: err}
	case err != nil:
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	return p.checkResponse(resp, answer, err)
}

// checkResponse returns the error of a response, if any. The parameter readErr is the error that
// occurred when the response was read.
func (p *Poster) checkResponse(resp *http.Response, answer []byte, readErr error) error {
	switch code := resp.StatusCode; {
	case code/100 == 2 && readErr != nil:
		return fmt.Errorf("cannot read its answer: %w", readErr)
	case code/100 == 2:
		return p.checkPartial(resp.Header.Get("Content-Type"), answer)
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return &retryableError{after: retryAfter(resp.Header.Get("Retry-After")), err: p.failure(resp.Status, answer)}
	}
	return p.failure(resp.Status, answer)
}

// failure returns an error with the status and the text of the collector. It removes the values of
// headers, which may be keys.
func (p *Poster) failure(status string, answer []byte) error {
	if s := strings.TrimSpace(p.secret.Replace(string(answer))); s != "" {
		return fmt.Errorf("%s: %s", status, s)
	}
	return errors.New(status)
}

// retryAfter returns how long a Retry-After header says to wait. Its value is a number of seconds
// or a date.
func retryAfter(v string) time.Duration {
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		return time.Duration(min(n, 24*60*60)) * time.Second //nolint:gosec // it is at most a day
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// checkPartial reads an Export…ServiceResponse. The error reports what was not accepted.
func (p *Poster) checkPartial(contentType string, answer []byte) error {
	kind, _, _ := strings.Cut(contentType, ";")
	var rejected, text string
	var err error
	switch strings.TrimSpace(kind) {
	case protobufType:
		rejected, text, err = partialProtobuf(answer)
	case "application/json":
		rejected, text, err = partialJSON(answer)
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot read its answer: %w", err)
	case rejected == "" && text == "":
		return nil
	case rejected == "":
		return fmt.Errorf("it accepted all and warned: %s", p.secret.Replace(text))
	}
	return fmt.Errorf("it rejected %s %s: %s", rejected, p.what, p.secret.Replace(text))
}

func partialProtobuf(answer []byte) (rejected, text string, err error) {
	var inner error
	var count int64
	err = fields(answer, func(tag, _ uint64, raw []byte) {
		if tag != tagOf(1, asBytes) {
			return
		}
		inner = errors.Join(inner, fields(raw, func(tag, v uint64, raw []byte) {
			switch tag {
			case tagOf(1, asVarint):
				count = int64(v) //nolint:gosec // the conversion keeps the bits
			case tagOf(2, asBytes):
				text = string(raw)
			}
		}))
	})
	if count != 0 {
		rejected = strconv.FormatInt(count, 10)
	}
	return rejected, text, errors.Join(err, inner)
}

// partialJSON reads the JSON that some collectors return for protobuf requests.
func partialJSON(answer []byte) (rejected, text string, err error) {
	if len(answer) == 0 {
		return "", "", nil
	}
	var r struct {
		PartialSuccess struct {
			RejectedSpans, RejectedDataPoints json.RawMessage // a number, or a number as a string
			ErrorMessage                      string
		}
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", "", err
	}
	for _, n := range []json.RawMessage{r.PartialSuccess.RejectedSpans, r.PartialSuccess.RejectedDataPoints} {
		if s := strings.Trim(string(n), `"`); s != "" && s != "0" && s != "null" {
			rejected = s
		}
	}
	return rejected, r.PartialSuccess.ErrorMessage, nil
}

// Close makes all later calls of Post return an error.
func (p *Poster) Close() {
	p.closed.Store(true)
	p.to.Client.CloseIdleConnections()
}
