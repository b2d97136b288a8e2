package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/encrypted"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/mirror"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/object"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/redis"
	"github.com/holdfast-dev/holdfast/session/retry"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// open opens a store, whichever it is; with wait its calls wait for it while it is away.
func (p *Program) open(ctx context.Context, ref storeRef, wait *retry.Options) (session.Store, error) {
	var key *encrypted.Key
	if ref.sealed {
		var err error
		if key, err = p.storeKey(); err != nil {
			return nil, err
		}
	}
	store, err := openPlain(ctx, ref, wait)
	if err != nil || key == nil {
		return store, err
	}
	sealed, err := encrypted.New(ctx, store, key, nil)
	if err != nil {
		p.closeStore(store)
		return nil, err
	}
	return sealed, nil
}

func openPlain(ctx context.Context, ref storeRef, wait *retry.Options) (session.Store, error) {
	store, err := openAsIs(ctx, ref, wait != nil)
	if err != nil || wait == nil || ref.url == inMemory {
		return store, err
	}
	o := *wait
	if ref.isLocal() {
		o.Attempt = -1
	}
	return retry.New(store, &o), nil
}

// openAsIs opens a store that does not wait; waits: what it would wait by itself is
// waited for around it.
func openAsIs(ctx context.Context, ref storeRef, waits bool) (session.Store, error) {
	switch ref.scheme {
	case "sqlite":
		return asStore(sqlite.Open(ref.path(), nil))
	case "file":
		return asStore(file.Open(ref.path(), nil))
	case "postgres":
		o := &postgres.Options{}
		if waits {
			o.Patience = time.Second
		}
		return asStore(postgres.Open(ctx, ref.url, o))
	case "mysql":
		return asStore(mysql.Open(ctx, ref.url, nil))
	case "redis", "rediss":
		return asStore(redis.Open(ctx, ref.url, nil))
	case "s3":
		return asStore(object.Open(ctx, ref.url, nil))
	case "memory":
		return memory.New(), nil
	}
	return nil, noStore(ref.name)
}

// asStore keeps a nil pointer from becoming a store that is not nil.
func asStore[S session.Store](s S, err error) (session.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// storeKey is the key of encrypted stores: HOLDFAST_STORE_KEY, an age identity's file or
// keychain:NAME, else HOLDFAST_STORE_PASSPHRASE. HOLDFAST_STORE_RECIPIENTS are others
// who can open what is made from now on.
func (p *Program) storeKey() (*encrypted.Key, error) {
	name, words := p.env("HOLDFAST_STORE_KEY"), p.env("HOLDFAST_STORE_PASSPHRASE")
	var key *encrypted.Key
	var err error
	chain, inChain := strings.CutPrefix(name, "keychain:")
	switch {
	case name != "" && words != "":
		return nil, usage("HOLDFAST_STORE_KEY and HOLDFAST_STORE_PASSPHRASE are both set", "unset the one that is not meant")
	case inChain:
		key, err = encrypted.Keychain(chain)
	case name != "":
		key, err = encrypted.IdentityFile(name)
	case words != "":
		key, err = encrypted.Passphrase(words)
	default:
		return nil, usage("an encrypted store needs a key",
			"holdfast store key FILE makes one; set HOLDFAST_STORE_KEY to FILE or keychain:NAME, or HOLDFAST_STORE_PASSPHRASE")
	}
	if err != nil {
		return nil, err
	}
	if more := strings.FieldsFunc(p.env("HOLDFAST_STORE_RECIPIENTS"), func(r rune) bool { return r == ',' || r == ' ' }); len(more) > 0 {
		return key.WithRecipients(more...)
	}
	return key, nil
}

// mirrored puts the store that HOLDFAST_MIRROR names behind another one: it gets what is
// appended, later, and what it lacks. The returned store closes both.
func (p *Program) mirrored(ctx context.Context, ref storeRef, store session.Store) (session.Store, error) {
	text := p.env("HOLDFAST_MIRROR")
	if text == "" {
		return store, nil
	}
	second, err := p.storeRef(text)
	if err == nil && second.name == ref.name {
		err = usage("HOLDFAST_MIRROR names the store itself", "name another store, or unset it")
	}
	var copies session.Store
	if err == nil {
		copies, err = p.open(ctx, second, nil)
	}
	if err != nil {
		p.closeStore(store)
		return nil, fmt.Errorf("HOLDFAST_MIRROR: %w", err)
	}
	m, err := mirror.New(store, copies, nil)
	if err != nil {
		p.closeStore(copies)
		p.closeStore(store)
		return nil, err
	}
	return m, nil
}

// storeWait is how long runs wait for a store that is away: HOLDFAST_STORE_WAIT, else what
// the settings of the daemon say, else five minutes.
func (p *Program) storeWait(setting *time.Duration) (time.Duration, error) {
	d := retry.DefaultFor
	if setting != nil {
		d = *setting
	}
	if v := p.env("HOLDFAST_STORE_WAIT"); v != "" {
		var err error
		if d, err = time.ParseDuration(v); err != nil || d < 0 {
			return 0, usage(fmt.Sprintf("HOLDFAST_STORE_WAIT: %q is not a time", v), "write 30s or 5m; 0 does not wait")
		}
	}
	if d == 0 {
		d = -1
	}
	return d, nil
}

// patient is how a run at the terminal waits for its store: it says so.
func (p *Program) patient() (*retry.Options, error) {
	d, err := p.storeWait(nil)
	if err != nil {
		return nil, err
	}
	return &retry.Options{For: d, Changed: func(err error, after time.Duration) {
		if err != nil {
			p.warn("waiting for the store, up to %s: %v", max(d, 0), err)
		} else {
			p.warn("the store is back after %s", after.Round(time.Second))
		}
	}}, nil
}
