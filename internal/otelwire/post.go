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

// Target is where requests are posted to.
type Target struct {
	URL     string
	Headers map[string]string // they may hold secrets, so errors do not repeat their values
	Gzip    bool
	Client  *http.Client
}

// Poster sends OTLP requests over HTTP to one address. Its methods may be called by
// several goroutines.
type Poster struct {
	to     *Target
	what   string // what is in a request, for errors
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

// NewPoster returns a poster of requests that contain what, "spans" for example.
func NewPoster(t *Target, what string) *Poster {
	const shortest = 4 // what is shorter keeps no secret, and would be found in any text
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

// retryableError is a failure that may pass.
type retryableError struct {
	after time.Duration // as the collector asks, or 0
	err   error
}

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// Post sends a request, and again while the collector says that it is busy, for up to a
// minute and never past the end of ctx.
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
		pause := max(later.after, spread/2+rand.N(spread)) //nolint:gosec // it only spreads requests
		spread = min(spread+spread/2, maxWait)
		over := start.Add(maxRetryTime)
		if end, ok := ctx.Deadline(); ok && end.Before(over) {
			over = end
		}
		if time.Now().Add(pause).After(over) {
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

// once sends a request once.
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
	return p.judge(resp, answer, err)
}

// judge says what an answer means. unread is why it could not be read to its end.
func (p *Poster) judge(resp *http.Response, answer []byte, unread error) error {
	switch code := resp.StatusCode; {
	case code/100 == 2 && unread != nil:
		return fmt.Errorf("its answer cannot be read: %w", unread)
	case code/100 == 2:
		return p.partly(resp.Header.Get("Content-Type"), answer)
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return &retryableError{after: retryAfter(resp.Header.Get("Retry-After")), err: p.failure(resp.Status, answer)}
	}
	return p.failure(resp.Status, answer)
}

// failure is a status with what the collector says of it. Values of headers are not
// repeated: there are keys in them.
func (p *Poster) failure(status string, answer []byte) error {
	if s := strings.TrimSpace(p.secret.Replace(string(answer))); s != "" {
		return fmt.Errorf("%s: %s", status, s)
	}
	return errors.New(status)
}

// retryAfter is the wait that a header asks for: seconds or a date.
func retryAfter(v string) time.Duration {
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		return time.Duration(min(n, 24*60*60)) * time.Second //nolint:gosec // it is at most a day
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// partly reads an Export…ServiceResponse. The error says what was not taken.
func (p *Poster) partly(contentType string, answer []byte) error {
	kind, _, _ := strings.Cut(contentType, ";")
	var rejected, said string
	var err error
	switch strings.TrimSpace(kind) {
	case protobufType:
		rejected, said, err = partialProtobuf(answer)
	case "application/json":
		rejected, said, err = partialJSON(answer)
	}
	switch {
	case err != nil:
		return fmt.Errorf("its answer cannot be read: %w", err)
	case rejected == "" && said == "":
		return nil
	case rejected == "":
		return fmt.Errorf("it took all, and warns: %s", p.secret.Replace(said))
	}
	return fmt.Errorf("it rejected %s %s: %s", rejected, p.what, p.secret.Replace(said))
}

func partialProtobuf(answer []byte) (rejected, said string, err error) {
	var inner error
	var count int64
	err = fields(answer, func(tag, _ uint64, raw []byte) {
		if tag != tagOf(1, asBytes) {
			return
		}
		inner = errors.Join(inner, fields(raw, func(tag, v uint64, raw []byte) {
			switch tag {
			case tagOf(1, asVarint):
				count = int64(v) //nolint:gosec // the bits are meant
			case tagOf(2, asBytes):
				said = string(raw)
			}
		}))
	})
	if count != 0 {
		rejected = strconv.FormatInt(count, 10)
	}
	return rejected, said, errors.Join(err, inner)
}

// partialJSON reads what some collectors answer to protobuf.
func partialJSON(answer []byte) (rejected, said string, err error) {
	if len(answer) == 0 {
		return "", "", nil
	}
	var r struct {
		PartialSuccess struct {
			RejectedSpans, RejectedDataPoints json.RawMessage // a number, or one as a string
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

// Close makes every later Post fail.
func (p *Poster) Close() {
	p.closed.Store(true)
	p.to.Client.CloseIdleConnections()
}
