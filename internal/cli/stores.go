package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/retry"
)

// openStore opens the store that a URL names and returns its sessions. The
// function it returns closes the store. What is appended is witnessed by the
// store's trail (lateTrail); a store in memory has none.
func (p *Program) openStore(ctx context.Context, url string) (*session.Sessions, func(), error) {
	return p.openWith(ctx, url, opening{})
}

// opening says what goes around a store.
type opening struct {
	witness func(session.Witness) session.Witness // one more, made of the trail's
	mirror  bool                                  // HOLDFAST_MIRROR gets a copy of what is appended
	wait    *retry.Options                        // how calls wait for a store that is away; nil: they do not
}

// openWith is openStore with something around it.
func (p *Program) openWith(ctx context.Context, url string, with opening) (*session.Sessions, func(), error) {
	ref, err := p.storeRef(url)
	if err != nil {
		return nil, nil, err
	}
	o := session.Options{Clock: p.Now}
	var trail *lateTrail
	if ref.url != inMemory {
		trail = &lateTrail{clock: p.Now}
		trail.dir, trail.err = p.trailDir(ref)
		o.Witness = trail
	}
	store, err := p.open(ctx, ref, with.wait)
	if err != nil {
		return nil, nil, err
	}
	if patient, ok := session.As[*retry.Store](store); ok {
		o.Witness = patient.Witness(o.Witness)
	}
	if with.witness != nil {
		o.Witness = with.witness(o.Witness)
	}
	if with.mirror {
		store, err = p.mirrored(ctx, ref, store)
	}
	if err != nil {
		return nil, nil, err
	}
	if with.mirror {
		p.opened = &openedStore{ref, store}
	}
	if o.Copies, err = p.copies(ref, store); err != nil {
		p.closeStore(store)
		return nil, nil, err
	}
	closeStore := func() {
		if err := trail.close(); err != nil {
			p.warn("close the audit trail: %v", err)
		}
		p.closeStore(store)
	}
	return session.New(store, &o), closeStore, nil
}

func (p *Program) closeStore(store session.Store) {
	if c, ok := store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			p.warn("close the store: %v", err)
		}
	}
}

// inMemory is the URL of a store that ends with the program.
const inMemory = "memory:"

// sealedPrefix stands before the URL of a store whose payloads are encrypted.
const sealedPrefix = "encrypted+"

// storeRef is a store that somebody named.
type storeRef struct {
	url    string // complete, without sealedPrefix; it may hold a password
	scheme string // of url
	name   string // the same without what is secret: for people, the daemon and the trail
	sealed bool   // its payloads are encrypted
}

// path is what a file or folder store's URL names.
func (r storeRef) path() string { return r.url[len(r.scheme)+1:] }

// folder is where a file or folder store lies.
func (r storeRef) folder() string {
	if r.scheme == "sqlite" {
		return filepath.Dir(r.path())
	}
	return r.path()
}

// again is the URL that names the store once more.
func (r storeRef) again() string {
	if r.sealed {
		return sealedPrefix + r.url
	}
	return r.url
}

// isLocal reports whether the store is a file or a folder.
func (r storeRef) isLocal() bool { return r.scheme == "sqlite" || r.scheme == "file" }

// storeRef completes a store's URL: the flag, else HOLDFAST_STORE, else the
// database in the home folder. Paths come out absolute.
func (p *Program) storeRef(text string) (storeRef, error) {
	text = orElse(text, p.env("HOLDFAST_STORE"))
	if text == "" {
		home, err := p.home()
		text = "sqlite:" + filepath.Join(home, "sessions.db")
		return storeRef{url: text, scheme: "sqlite", name: text}, err
	}
	var ref storeRef
	plain, sealed := strings.CutPrefix(text, sealedPrefix)
	scheme, rest, ok := strings.Cut(plain, ":")
	if !ok {
		return ref, noStore(text)
	}
	var err error
	switch scheme {
	case "sqlite", "file":
		ref, err = p.localStore(scheme, rest)
	case "memory":
		ref = storeRef{url: inMemory, scheme: scheme, name: inMemory}
		if rest != "" {
			err = noStore(text)
		}
	case "postgres", "postgresql", "mysql", "redis", "rediss", "s3":
		ref, err = remoteStore(plain)
	default:
		err = noStore(text)
	}
	if sealed {
		ref.sealed, ref.name = true, sealedPrefix+ref.name
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
	return usage(named+" is not a store", storeHint)
}

func (p *Program) localStore(scheme, path string) (storeRef, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return storeRef{}, usage(fmt.Sprintf("the store %q names no path", scheme+":"), storeHint)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(p.env("HOME"), rest)
	}
	if !filepath.IsAbs(path) {
		wd, err := p.Getwd()
		if err != nil {
			return storeRef{}, err
		}
		path = filepath.Join(wd, path)
	}
	text := scheme + ":" + filepath.Clean(path)
	return storeRef{url: text, scheme: scheme, name: text}, nil
}

// telling are the parameters of a store's URL that say which store it is.
var telling = []string{"schema", "search_path", "prefix", "endpoint", "region", "db", "insecure"}

// remoteStore names a store on a server: by where it is, without who comes.
func remoteStore(text string) (storeRef, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return storeRef{}, noStore(text)
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if name.Scheme == "postgresql" {
		name.Scheme = "postgres"
	}
	q := u.Query()
	if strings.Contains(q.Get("endpoint"), "@") { // who comes is said before the bucket
		return storeRef{}, noStore(text)
	}
	for key := range q {
		if !slices.Contains(telling, key) {
			q.Del(key)
		}
	}
	name.RawQuery = q.Encode()
	return storeRef{url: text, scheme: name.Scheme, name: name.String()}, nil
}
