// Package stores opens the store of a run's sessions by its URL, with what belongs to it:
// the audit trail, the mirror, and the register of copies that erasure reaches.
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

// Options say what goes around a store.
type Options struct {
	WrapWitness func(session.AppendObserver) session.AppendObserver // one more, made of the trail's
	Mirror      bool                                                // HOLDFAST_MIRROR gets a copy of what is appended
	Wait        *retry.Options                                      // how calls wait for a store that is away; nil: they do not
}

// Store is an open store.
type Store struct {
	Ref      Ref
	Sessions *session.Sessions

	store session.Store
	trail *Trail
	env   *env.Env
}

// Open opens the store that a URL names, as [Parse] reads it. What is appended is
// witnessed by the store's trail; a store in memory has none.
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

// Use is Open of a store that the host program has opened, and closes. name says which one it
// is, as a URL does; "" is "host:".
func Use(ctx context.Context, e *env.Env, name string, store session.Store, with *Options) (*Store, error) {
	if with == nil {
		with = &Options{}
	}
	name = cmp.Or(name, "host:")
	scheme, _, ok := strings.Cut(name, ":")
	if !ok {
		return nil, outcome.Invalid(strconv.Quote(name)+" is no name of a store", `give it one such as "host:orders"`)
	}
	return wrapStore(ctx, e, Ref{URL: name, Scheme: scheme, Name: name}, borrowedStore{store}, with)
}

// borrowedStore is a store that somebody else closes.
type borrowedStore struct{ session.Store }

// Unwrap returns the store.
func (l borrowedStore) Unwrap() session.Store { return l.Store }

// wrapStore puts the trail, the mirror and the register of copies around a store. It closes
// the store when it fails.
func wrapStore(ctx context.Context, e *env.Env, ref Ref, store session.Store, with *Options) (*Store, error) {
	s := &Store{Ref: ref, store: store, env: e}
	o := session.Options{Clock: e.Clock}
	if !ref.InMemory() {
		s.trail = &Trail{Clock: e.Clock}
		s.trail.Dir, s.trail.err = TrailDir(e, ref)
		o.AppendObserver = s.trail
	}
	if patient, ok := session.As[*retry.Store](store); ok {
		o.AppendObserver = patient.WrapWitness(o.AppendObserver)
	}
	if with.WrapWitness != nil {
		o.AppendObserver = with.WrapWitness(o.AppendObserver)
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

// Close closes the trail and the store. What goes wrong is a notice. A nil store is closed.
func (s *Store) Close() {
	if s == nil {
		return
	}
	var both sync.WaitGroup // wait for the disk
	both.Go(func() {
		if err := s.trail.Close(); err != nil {
			s.env.Warn("close the audit trail: %v", err)
		}
	})
	closeStore(s.env, s.store)
	both.Wait()
}

// Sealer seals what is kept beside a sealed store; nil when the store is not sealed.
func (s *Store) Sealer() outputs.Sealer { return sealer(s.Ref, s.store) }

func closeStore(e *env.Env, store session.Store) {
	if c, ok := store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			e.Warn("close the store: %v", err)
		}
	}
}

// InMemory is the URL of a store that ends with the program.
const InMemory = "memory:"

// sealedPrefix stands before the URL of a store whose payloads are encrypted.
const sealedPrefix = "encrypted+"

// Ref names a store.
type Ref struct {
	URL       string // complete, without "encrypted+"; it may hold a password
	Scheme    string // of URL
	Name      string // the same without secrets: for people, the daemon and the trail
	Encrypted bool   // its payloads are encrypted
}

// InMemory reports whether the store ends with the program.
func (r Ref) InMemory() bool { return r.URL == InMemory }

// path is what a file or folder store's URL names.
func (r Ref) path() string { return r.URL[len(r.Scheme)+1:] }

// Database is the file of a store that is one file; "" of others.
func (r Ref) Database() string {
	if r.Scheme != "sqlite" {
		return ""
	}
	return r.path()
}

// Folder is where a file or folder store lies.
func (r Ref) Folder() string {
	if r.Scheme == "sqlite" {
		return filepath.Dir(r.path())
	}
	return r.path()
}

// ReopenURL is the URL that opens the store again.
func (r Ref) ReopenURL() string {
	if r.Encrypted {
		return sealedPrefix + r.URL
	}
	return r.URL
}

// IsLocal reports whether the store is a file or a folder.
func (r Ref) IsLocal() bool { return r.Scheme == "sqlite" || r.Scheme == "file" }

// Parse completes a store's URL: text, else HOLDFAST_STORE, else the database in the
// home folder. Paths come out absolute.
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

const storeHint = "use sqlite:PATH, file:FOLDER, postgres://…, mysql://…, redis://…, s3://BUCKET/PREFIX or memory:; encrypted+URL keeps what it says secret"

// noStore does not repeat what may hold a password.
func noStore(text string) error {
	named := strconv.Quote(text)
	if strings.ContainsAny(text, "@=?") {
		named = "what --store or HOLDFAST_STORE says"
	}
	return outcome.Invalid(named+" is not a store", storeHint)
}

func localStore(e *env.Env, scheme, path string) (Ref, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return Ref{}, outcome.Invalid(fmt.Sprintf("the store %q names no path", scheme+":"), storeHint)
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

// identityParams are the parameters of a store's URL that say which store it is.
var identityParams = []string{"schema", "search_path", "prefix", "endpoint", "region", "db", "insecure"}

// remoteStore names a store on a server: by where it is, without who comes.
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
	if strings.Contains(q.Get("endpoint"), "@") { // who comes is said before the bucket
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
