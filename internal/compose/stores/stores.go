// Package stores opens the store of a run's sessions by its URL, together with the audit trail, the
// mirror, and the list of copies that erasing must reach.
//
//	URL ─► Parse ─► Ref ─► Open ─► encrypted(retry(store)) ─► mirror ─► session.Sessions
//	                               trail, copies ────────────────────────────┘
//
//	s, err := stores.Open(ctx, e, "sqlite:sessions.db", nil)
//	defer s.Close()
package stores

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/outputs"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
)

// Options configures [Open] and [Use].
type Options struct {
	WrapObserver func(session.AppendObserver) session.AppendObserver // wraps the trail's observer
	Mirror       bool                                                // copy appends to HOLDFAST_MIRROR
	Wait         *retry.Options                                      // how calls wait for an unavailable store; nil means that they do not wait
}

// Store is an open store.
type Store struct {
	Ref      Ref
	Sessions *session.Sessions

	store session.Store
	trail *Trail
	env   *env.Env
}

// Open opens the store of a URL; see [Parse]. The store's trail records appends; a store in memory
// has no trail.
func Open(ctx context.Context, e *env.Env, url string, with *Options) (*Store, error) {
	if with == nil {
		with = &Options{}
	}
	ref, err := Parse(e, url)
	if err != nil {
		return nil, err
	}
	store, err := open(ctx, e, ref, with.Wait)
	if err != nil {
		return nil, err
	}
	return wrapStore(ctx, e, ref, store, with)
}

// Use is like [Open] for a store that the host program has opened and will close. name identifies
// it like a URL; "" is "host:".
func Use(ctx context.Context, e *env.Env, name string, store session.Store, with *Options) (*Store, error) {
	if with == nil {
		with = &Options{}
	}
	name = cmp.Or(name, "host:")
	scheme, _, ok := strings.Cut(name, ":")
	if !ok {
		return nil, outcome.Invalid("invalid store name "+strconv.Quote(name), `use a name such as "host:orders"`)
	}
	return wrapStore(ctx, e, Ref{URL: name, Scheme: scheme, Name: name}, borrowedStore{store}, with)
}

// borrowedStore is a store that the host program closes.
type borrowedStore struct{ session.Store }

// Unwrap returns the store.
func (l borrowedStore) Unwrap() session.Store { return l.Store }

// wrapStore adds the trail, the mirror and the list of copies to a store. It closes the store if it
// fails.
func wrapStore(ctx context.Context, e *env.Env, ref Ref, store session.Store, with *Options) (*Store, error) {
	s := &Store{Ref: ref, store: store, env: e}
	o := session.Options{Clock: e.Clock}
	if !ref.InMemory() {
		s.trail = &Trail{Clock: e.Clock}
		s.trail.Dir, s.trail.err = TrailDir(e, ref)
		o.AppendObserver = s.trail
	}
	if patient, ok := session.As[*retry.Store](store); ok {
		o.AppendObserver = patient.WrapObserver(o.AppendObserver)
	}
	if with.WrapObserver != nil {
		o.AppendObserver = with.WrapObserver(o.AppendObserver)
	}
	var err error
	if with.Mirror {
		if s.store, err = mirrored(ctx, e, ref, store); err != nil {
			return nil, err
		}
	}
	if o.Copies, err = copies(e, ref, s.store); err != nil {
		closeStore(e, s.store)
		return nil, err
	}
	s.Sessions = session.New(s.store, &o)
	return s, nil
}

// Close closes the trail and the store. Errors are reported as notices. A nil store is already
// closed.
func (s *Store) Close() {
	if s == nil {
		return
	}
	var both sync.WaitGroup // waits for the disk
	both.Go(func() {
		if err := s.trail.Close(); err != nil {
			s.env.Warn("close the audit trail: %v", err)
		}
	})
	closeStore(s.env, s.store)
	both.Wait()
}

// Sealer returns the sealer for files next to a sealed store; nil if the store is not sealed.
func (s *Store) Sealer() outputs.Sealer { return sealer(s.Ref, s.store) }

func closeStore(e *env.Env, store session.Store) {
	if c, ok := store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			e.Warn("close the store: %v", err)
		}
	}
}

// InMemory is the URL of a store that is lost when the program ends.
const InMemory = "memory:"

// sealedPrefix precedes the URL of a store whose payloads are encrypted.
const sealedPrefix = "encrypted+"

// Ref identifies a store.
type Ref struct {
	URL       string // the complete URL without "encrypted+"; it may contain a password
	Scheme    string // of URL
	Name      string // the URL without secrets, for the display, the daemon and the trail
	Encrypted bool   // its payloads are encrypted
}

// InMemory reports whether the store exists only while the program runs.
func (r Ref) InMemory() bool { return r.URL == InMemory }

// path returns the path in the URL of a file or folder store.
func (r Ref) path() string { return r.URL[len(r.Scheme)+1:] }

// Database returns the file of a single-file store; "" for others.
func (r Ref) Database() string {
	if r.Scheme != "sqlite" {
		return ""
	}
	return r.path()
}

// Folder returns the folder of a file or folder store.
func (r Ref) Folder() string {
	if r.Scheme == "sqlite" {
		return filepath.Dir(r.path())
	}
	return r.path()
}

// ReopenURL returns a URL that opens the same store.
func (r Ref) ReopenURL() string {
	if r.Encrypted {
		return sealedPrefix + r.URL
	}
	return r.URL
}

// IsLocal reports whether the store is a file or a folder.
func (r Ref) IsLocal() bool { return r.Scheme == "sqlite" || r.Scheme == "file" }

// Parse resolves a store's URL: text, else HOLDFAST_STORE, else the database in the home folder.
// Paths become absolute.
func Parse(e *env.Env, text string) (Ref, error) {
	text = cmp.Or(text, e.Lookup("HOLDFAST_STORE"))
	if text == "" {
		home, err := e.Home()
		text = "sqlite:" + filepath.Join(home, "sessions.db")
		return Ref{URL: text, Scheme: "sqlite", Name: text}, err
	}
	var ref Ref
	plain, sealed := strings.CutPrefix(text, sealedPrefix)
	scheme, rest, ok := strings.Cut(plain, ":")
	if !ok {
		return ref, noStore(text)
	}
	var err error
	switch scheme {
	case "sqlite", "file":
		ref, err = localStore(e, scheme, rest)
	case "memory":
		ref = Ref{URL: InMemory, Scheme: scheme, Name: InMemory}
		if rest != "" {
			err = noStore(text)
		}
	case "postgres", "postgresql", "mysql", "redis", "rediss", "s3":
		ref, err = remoteStore(plain)
	default:
		err = noStore(text)
	}
	if sealed {
		ref.Encrypted, ref.Name = true, sealedPrefix+ref.Name
	}
	return ref, err
}

const storeHint = "use sqlite:PATH, file:FOLDER, postgres://…, mysql://…, redis://…, s3://BUCKET/PREFIX or memory:; encrypted+URL encrypts the store"

// noStore does not repeat the text, which may contain a password.
func noStore(text string) error {
	named := strconv.Quote(text)
	if strings.ContainsAny(text, "@=?") {
		named = "the value of --store or HOLDFAST_STORE"
	}
	return outcome.Invalid(named+" is not a store", storeHint)
}

func localStore(e *env.Env, scheme, path string) (Ref, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return Ref{}, outcome.Invalid(fmt.Sprintf("the store %q has no path", scheme+":"), storeHint)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(e.Lookup("HOME"), rest)
	}
	path, err := e.Abs(path)
	if err != nil {
		return Ref{}, err
	}
	text := scheme + ":" + filepath.Clean(path)
	return Ref{URL: text, Scheme: scheme, Name: text}, nil
}

// identityParams are the URL parameters that identify a store.
var identityParams = []string{"schema", "search_path", "prefix", "endpoint", "region", "db", "insecure"}

// remoteStore identifies a store on a server by its address, without the user.
func remoteStore(text string) (Ref, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Ref{}, noStore(text)
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name.Scheme == "postgresql" {
		name.Scheme = "postgres"
	}
	q := u.Query()
	if strings.Contains(q.Get("endpoint"), "@") { // user and password must be before the bucket, not in the endpoint
		return Ref{}, noStore(text)
	}
	for key := range q {
		if !slices.Contains(identityParams, key) {
			q.Del(key)
		}
	}
	name.RawQuery = q.Encode()
	return Ref{URL: text, Scheme: name.Scheme, Name: name.String()}, nil
}
