package object

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/s3"
	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

var (
	_ session.Store     = (*Store)(nil)
	_ session.Leaser    = (*Store)(nil)
	_ session.Deleter   = (*Store)(nil)
	_ session.Eraser    = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
)

// Options are the options of a [Store]. The zero value works.
type Options struct {
	// Transport sends the requests; nil uses a separate one with the timeouts of net/http's
	// default.
	Transport http.RoundTripper
	// Poll is how often [Store.Watch] polls; 0 is one second. Each poll is one request.
	Poll time.Duration
	// FoldSlots is the number of small objects of a session after which they are folded into larger
	// ones in the background. 0 means 64, less than 0 means never.
	FoldSlots int
}

const (
	foldSlots = 64
	foldBytes = 8 << 20
	pollEvery = time.Second
	// headTTL is how long a client relies on its cached end of a log. Slots are removed after roots
	// have included them for the time slotTTL. Both times are measured by the server's clock. The
	// difference allows for servers whose clocks differ, and for requests in transit: signatures
	// expire after 15 minutes.
	headTTL = 10 * time.Minute
	slotTTL = time.Hour
	// handleLimit is the number of sessions whose log end a client remembers.
	handleLimit = 4096
	closeTime   = 30 * time.Second
)

// Store stores sessions in a bucket. It is safe for concurrent use. Create one with [Open] and end
// it with Close.
type Store struct {
	bucket  bucket
	url     string // URL without the password
	opt     Options
	headTTL time.Duration
	slotTTL time.Duration

	epochLock lock
	metas     metaCache
	watchers  *logwatch.Watchers

	mu      sync.Mutex
	handles map[string]*handle
	closed  bool
	ctx     context.Context // context of background work
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Open opens the store at a URL, s3://BUCKET/PREFIX?endpoint=…, and creates it if there are no
// objects below the prefix. The bucket must exist. docs/formats/object.md describes the URL.
//
// Errors: ErrNewer if a newer version wrote the store; ErrInvalid if the URL is invalid, if there
// are other objects below the prefix, if the server does not support the required conditions, or
// if the bucket keeps versions and the URL does not accept that; ErrNotFound if there is no such
// bucket.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	if opt.Poll <= 0 {
		opt.Poll = pollEvery
	}
	if opt.FoldSlots == 0 {
		opt.FoldSlots = foldSlots
	}
	p, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	client, err := s3.New(s3.Options{
		Bucket: p.bucket, Endpoint: p.endpoint(), Region: p.region, Style: p.style, Keys: p.keys(),
		Transport: opt.Transport, Tries: requestTries,
	})
	if err != nil {
		return nil, &session.Error{Op: "open", Err: session.ErrInvalid, Detail: p.shown + ": " + err.Error(), Hint: urlHint}
	}
	s := &Store{
		bucket: bucket{client: client, name: p.bucket, prefix: p.prefix},
		url:    p.shown, opt: opt, headTTL: headTTL, slotTTL: slotTTL,
		epochLock: newLock(), handles: map[string]*handle{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.watchers = logwatch.New(s, func() logwatch.Notifier { return poller{s} })
	if err := s.setUp(ctx, p.versions); err != nil {
		s.stop()
		client.CloseIdleConnections()
		return nil, s.explain(ctx, "open", "", err)
	}
	return s, nil
}

// requestTries is the maximum number of times that a request is sent if the server does not answer
// or is busy.
const requestTries = 4

// formatFile marks a prefix as a store.
type formatFile struct {
	Store  string `json:"store"`
	Format int    `json:"format"`
}

const storeName = "holdfast sessions"

// setUp finds or creates the store, and tests the conditions that it needs.
func (s *Store) setUp(ctx context.Context, versions bool) error {
	body, _ := json.Marshal(formatFile{storeName, formatVersion}) // cannot fail
	body = append(body, '\n')
	o, err := s.bucket.get(ctx, formatKey, 0)
	if errors.Is(err, errMissing) {
		if err = s.empty(ctx); err == nil {
			if _, err = s.bucket.create(ctx, formatKey, body); errors.Is(err, errTaken) {
				err = nil // another client created the store meanwhile
			}
		}
		if err == nil || errors.Is(err, errForeign) {
			foreign := err
			if o, err = s.bucket.get(ctx, formatKey, 0); errors.Is(err, errMissing) && foreign != nil {
				return s.foreign("the prefix already contains other objects")
			}
		}
	}
	if err != nil {
		return err
	}
	var f formatFile
	switch err := unmarshal(o.body, &f); {
	case errors.Is(err, session.ErrNewer):
		return &session.Error{Err: err, Detail: s.url, Hint: "upgrade holdfast"}
	case err != nil || f.Store != storeName:
		return s.foreign(formatKey + " was not written by holdfast")
	}
	if err := s.tryConditions(ctx, o); err != nil {
		return err
	}
	return s.checkVersions(ctx, versions)
}

var errForeign = errors.New("foreign")

// empty returns errForeign if there are objects below the prefix.
func (s *Store) empty(ctx context.Context) error {
	for _, err := range s.bucket.list(ctx, "", "") {
		if err != nil {
			return err
		}
		return errForeign
	}
	return nil
}

func (s *Store) foreign(why string) error {
	return &session.Error{Err: session.ErrInvalid, Detail: s.url + ": " + why, Hint: "use another prefix: s3://bucket/prefix"}
}

// tryConditions writes the format object under conditions that are false. A server that ignores the
// conditions writes the same content.
func (s *Store) tryConditions(ctx context.Context, o object) error {
	_, created := s.bucket.create(ctx, formatKey, o.body)
	_, replaced := s.bucket.replace(ctx, formatKey, "00000000000000000000000000000000", o.body)
	for name, err := range map[string]error{"If-None-Match": created, "If-Match": replaced} {
		if err == nil {
			return &session.Error{
				Err: session.ErrInvalid, Detail: s.url + ": the server ignores " + name + " when it writes objects",
				Hint: "use a server with conditional writes, such as Amazon S3, MinIO, Cloudflare R2 or versitygw",
			}
		}
		if !errors.Is(err, errTaken) {
			return err
		}
	}
	return nil
}

// checkVersions rejects a bucket that would keep erased content. A client without the permission
// to check, or a server without versions, is accepted.
func (s *Store) checkVersions(ctx context.Context, accept bool) error {
	kept, err := s.bucket.client.KeepsVersions(ctx)
	if err != nil || !kept || accept {
		return ctx.Err()
	}
	return &session.Error{
		Err: session.ErrInvalid, Detail: s.url + ": the bucket keeps old versions of objects, so what is erased or deleted stays in it",
		Hint: "suspend the bucket's versioning, or add versions=keep to the URL and a lifecycle rule that expires old versions",
	}
}

// Close folds the small objects of sessions this client wrote and waits for background work, each
// for at most half a minute. No acknowledged data depends on it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var wrote []*handle
	for _, h := range s.handles {
		wrote = append(wrote, h)
	}
	s.mu.Unlock()
	s.watchers.Close()
	timer := time.AfterFunc(closeTime, s.stop)
	defer timer.Stop()
	if s.opt.FoldSlots > 0 {
		_ = inParallel(s.ctx, wrote, func(ctx context.Context, h *handle) error {
			if h.worthFolding(closeSlots) {
				_ = h.fold(ctx)
			}
			return nil
		})
	}
	s.running.Wait()
	s.stop()
	s.bucket.client.CloseIdleConnections()
	return nil
}

// closeSlots is the number of small objects of a session that Close does not fold.
const closeSlots = 8

func newHandle(s *Store, id string) *handle {
	return &handle{s: s, id: id, mu: newLock(), folding: newLock()}
}

// withHandle locks the handle of the session and passes it to do.
func (s *Store) withHandle(ctx context.Context, op, id string, do func(*handle) error) error {
	h, err := s.handle(id)
	if err == nil {
		if err = h.mu.lock(ctx); err == nil {
			defer h.mu.unlock()
			err = do(h)
		}
	}
	return s.explain(ctx, op, id, err)
}

// handle returns the handle of a session, and creates it if there is none.
func (s *Store) handle(id string) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, session.ErrClosed
	}
	h := s.handles[id]
	if h == nil {
		for other := range s.handles { // remove any handle: the next use of its session costs a few more requests
			if len(s.handles) < handleLimit {
				break
			}
			delete(s.handles, other)
		}
		h = newHandle(s, id)
		s.handles[id] = h
	}
	return h, nil
}

// foldIfLarge folds a session in the background if it has many small objects. h.mu is held.
func (s *Store) foldIfLarge(h *handle) {
	if s.opt.FoldSlots < 0 || h.st.Slot-h.root.State.Slot < int64(s.opt.FoldSlots) && h.live < foldBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	select {
	case h.folding <- struct{}{}:
	default:
		return // it is being folded
	}
	s.running.Go(func() {
		defer h.folding.unlock()
		_ = h.foldLocked(s.ctx, nil) // the next write tries to fold again
	})
}
