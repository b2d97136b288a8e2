package daemon

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Limits of the stored answers.
const (
	keyTTL         = 24 * time.Hour
	maxKeys        = 4096
	maxStoredBytes = 16 << 20
	maxKeyLength   = 255 // bytes of an Idempotency-Key
)

// idempotencyCache stores the answers to requests with an Idempotency-Key. It stores them only in
// memory, so a restart loses them. It is safe for concurrent use.
type idempotencyCache struct {
	now func() time.Time

	mu        sync.Mutex
	responses map[string]*storedResponse
	order     []string // the keys of the answered requests, oldest first
	bytes     int
}

// storedResponse is a request with a key, and the answer once the request has one.
type storedResponse struct {
	request [sha256.Size]byte
	done    bool
	at      time.Time
	status  int
	header  http.Header
	body    []byte
}

func newIdempotencyCache(now func() time.Time) *idempotencyCache {
	return &idempotencyCache{now: now, responses: map[string]*storedResponse{}}
}

// once serves a POST, or repeats the answer to an identical earlier request.
func (a *service) once(c *call) error {
	key := c.r.Header.Get("Idempotency-Key")
	switch {
	case key == "":
		return c.route.serve(c)
	case c.route.Secret:
		return refuse(outcome.Usage, "the answer has a secret, which is not stored and cannot be repeated", "omit Idempotency-Key")
	case c.route.Streams:
		return refuse(outcome.Usage, "the answer may be a stream, which is not stored and cannot be repeated", "omit Idempotency-Key")
	case len(key) > maxKeyLength || !printable(key):
		return refuse(outcome.Usage, "an Idempotency-Key must have 1 to "+strconv.Itoa(maxKeyLength)+" printable ASCII characters", "")
	}
	id := c.caller.Method + "\x00" + c.caller.Name + "\x00" + strconv.Itoa(c.caller.UID) + "\x00" + c.caller.Token + "\x00" + key
	sum := sha256.Sum256([]byte(c.r.Method + " " + c.r.URL.RequestURI() + "\n" + string(c.body)))
	old, err := a.keys.begin(id, sum)
	if err != nil {
		return err
	}
	if old != nil {
		c.header("Idempotency-Replayed", "true")
		if c.route.serveRepeat != nil && old.status < http.StatusMultipleChoices {
			if at := old.location(); at != "" {
				c.header("Location", at)
			}
			return c.route.serveRepeat(c, old)
		}
		old.replay(c.w)
		return nil
	}
	rec := &recorder{ResponseWriter: c.w}
	c.w = rec
	defer func() { // this runs even after a panic; no answer is stored then
		switch {
		case c.route.serveRepeat == nil:
		case rec.status < http.StatusMultipleChoices:
			rec.body.Reset()
		case rec.status == http.StatusConflict: // the new answer may quote the first one
			rec.status = 0
		}
		a.keys.finish(id, rec)
	}()
	if err := c.route.serve(c); err != nil {
		a.fail(rec, c.r, err)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// repeatHandlers returns, by route ID, the handlers of repeated requests whose first answer is not stored.
// For all other routes, the first answer is stored and sent again. An answer that contains text of
// a session is not stored, because the text would remain after an erasure. The handler reads the
// session again instead.
func (a *service) repeatHandlers() map[string]func(c *call, first *storedResponse) error {
	run := func(c *call, _ *storedResponse) error { return a.writeRun(c, http.StatusOK, c.path("id")) }
	return map[string]func(c *call, first *storedResponse) error{
		"decideApproval": func(c *call, _ *storedResponse) error { return a.getApproval(c) },
		"forkSession": func(c *call, first *storedResponse) error {
			return a.repeatFork(c, strings.TrimPrefix(first.location(), "/v1/sessions/"))
		},
		"rewindSession": func(c *call, _ *storedResponse) error {
			return refuse(outcome.Conflict, "this request was already served, and its answer was not stored", "GET /v1/sessions/"+c.path("id")+" returns the session's present state")
		},
		"createRun": func(c *call, first *storedResponse) error {
			return a.writeRun(c, first.status, strings.TrimPrefix(first.location(), "/v1/runs/"))
		},
		"startRun": run, "continueRun": run, "stopRun": run, "steerRun": run, "giveInput": run, "setRunMode": run,
	}
}

// begin returns the stored answer to an identical request. If there is none, it returns nil, and
// the caller must serve the request and then call finish.
func (k *idempotencyCache) begin(id string, request [sha256.Size]byte) (*storedResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget()
	old := k.responses[id]
	switch {
	case old == nil:
		k.responses[id] = &storedResponse{request: request}
		return nil, nil
	case old.request != request:
		return nil, refuse(outcome.KeyReused, "this Idempotency-Key was used with a different request", "use a new key for each request")
	case !old.done:
		return nil, refuse(outcome.Conflict, "the request with this Idempotency-Key is still running", "repeat it in a few seconds")
	}
	return old, nil
}

// finish stores an answer. It does not do so if the same request may get a different answer when it
// is repeated.
func (k *idempotencyCache) finish(id string, r *recorder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.responses[id]
	if r.status == 0 || r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests {
		delete(k.responses, id)
		return
	}
	e.done, e.at, e.status, e.header, e.body = true, k.now(), r.status, r.Header().Clone(), r.body.Bytes()
	k.order = append(k.order, id)
	k.bytes += len(e.body)
	k.forget()
}

// forget removes old answers and those above the limit.
func (k *idempotencyCache) forget() {
	for len(k.order) > 0 {
		e := k.responses[k.order[0]]
		if k.now().Sub(e.at) < keyTTL && len(k.order) <= maxKeys && k.bytes <= maxStoredBytes {
			return
		}
		k.bytes -= len(e.body)
		delete(k.responses, k.order[0])
		k.order = k.order[1:]
	}
}

// location returns the answer's Location header.
func (e *storedResponse) location() string { return e.header.Get("Location") }

// replay writes a stored answer again.
func (e *storedResponse) replay(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range e.header {
		h[name] = slices.Clone(values)
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body)
}

// recorder records the answer it passes on.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// Unwrap gives [http.ResponseController] access to the wrapped writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
