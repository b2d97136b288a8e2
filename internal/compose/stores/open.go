package stores

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/encrypted"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// open opens a store of any kind; if wait is not nil, calls wait while the store is unavailable.
func open(ctx context.Context, e *env.Env, ref Ref, wait *retry.Options) (session.Store, error) {
	var key *encrypted.Key
	if ref.Encrypted {
		var err error
		if key, err = storeKey(e); err != nil {
			return nil, err
		}
	}
	store, err := openUnencrypted(ctx, ref, wait)
	if err != nil || key == nil {
		return store, err
	}
	sealed, err := encrypted.New(ctx, store, key, nil)
	if err != nil {
		closeStore(e, store)
		return nil, err
	}
	return sealed, nil
}

func openUnencrypted(ctx context.Context, ref Ref, wait *retry.Options) (session.Store, error) {
	store, err := openRaw(ctx, ref, wait != nil)
	if err != nil || wait == nil || ref.InMemory() {
		return store, err
	}
	o := *wait
	if ref.IsLocal() {
		o.Attempt = -1
	}
	return retry.New(store, &o), nil
}

// openRaw opens a store that does not wait. The parameter waits is true if a wrapper around the
// store waits instead.
func openRaw(ctx context.Context, ref Ref, waits bool) (session.Store, error) {
	switch ref.Scheme {
	case "sqlite":
		return asStore(sqlite.Open(ref.path(), nil))
	case "file":
		return asStore(file.Open(ref.path(), nil))
	case "memory":
		return memory.New(), nil
	}
	return openServer(ctx, ref, waits)
}

// asStore prevents a nil pointer from becoming a non-nil interface.
func asStore[S session.Store](s S, err error) (session.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// storeKey returns the key of encrypted stores: HOLDFAST_STORE_KEY, which is an age identity file
// or keychain:NAME, else HOLDFAST_STORE_PASSPHRASE. HOLDFAST_STORE_RECIPIENTS are additional
// recipients of new sessions.
func storeKey(e *env.Env) (*encrypted.Key, error) {
	name, words := e.Lookup("HOLDFAST_STORE_KEY"), e.Lookup("HOLDFAST_STORE_PASSPHRASE")
	var key *encrypted.Key
	var err error
	chain, inChain := strings.CutPrefix(name, "keychain:")
	switch {
	case name != "" && words != "":
		return nil, outcome.Invalid("HOLDFAST_STORE_KEY and HOLDFAST_STORE_PASSPHRASE are both set", "unset one of them")
	case inChain:
		key, err = encrypted.Keychain(chain)
	case name != "":
		key, err = encrypted.IdentityFile(name)
	case words != "":
		key, err = encrypted.Passphrase(words)
	default:
		return nil, outcome.Invalid("an encrypted store needs a key",
			"holdfast store key FILE makes one; set HOLDFAST_STORE_KEY to FILE or keychain:NAME, or HOLDFAST_STORE_PASSPHRASE")
	}
	if err != nil {
		return nil, err
	}
	if more := strings.FieldsFunc(e.Lookup("HOLDFAST_STORE_RECIPIENTS"), func(r rune) bool { return r == ',' || r == ' ' }); len(more) > 0 {
		return key.WithRecipients(more...)
	}
	return key, nil
}

// mirrored adds the store of HOLDFAST_MIRROR as a mirror: it receives each append asynchronously,
// and all earlier records that it lacks. The returned store closes both.
func mirrored(ctx context.Context, e *env.Env, ref Ref, store session.Store) (session.Store, error) {
	text := e.Lookup("HOLDFAST_MIRROR")
	if text == "" {
		return store, nil
	}
	second, err := Parse(e, text)
	if err == nil && second.Name == ref.Name {
		err = outcome.Invalid("HOLDFAST_MIRROR names the store itself", "name another store, or unset it")
	}
	var copies session.Store
	if err == nil {
		copies, err = open(ctx, e, second, nil)
	}
	if err != nil {
		closeStore(e, store)
		return nil, fmt.Errorf("HOLDFAST_MIRROR: %w", err)
	}
	m, err := mirror.New(store, copies, nil)
	if err != nil {
		closeStore(e, copies)
		closeStore(e, store)
		return nil, err
	}
	return m, nil
}

// WaitTime returns how long runs wait for an unavailable store: HOLDFAST_STORE_WAIT, else the daemon's
// setting, else five minutes.
func WaitTime(e *env.Env, setting *time.Duration) (time.Duration, error) {
	d := retry.DefaultTimeout
	if setting != nil {
		d = *setting
	}
	if v := e.Lookup("HOLDFAST_STORE_WAIT"); v != "" {
		var err error
		if d, err = time.ParseDuration(v); err != nil || d < 0 {
			return 0, outcome.Invalid(fmt.Sprintf("HOLDFAST_STORE_WAIT: %q is not a time", v), "write 30s or 5m; 0 does not wait")
		}
	}
	if d == 0 {
		d = -1
	}
	return d, nil
}

// WaitOptions returns the options with which a run in a terminal waits for its store and shows notices.
func WaitOptions(e *env.Env) (*retry.Options, error) {
	d, err := WaitTime(e, nil)
	if err != nil {
		return nil, err
	}
	return &retry.Options{Timeout: d, Changed: func(err error, after time.Duration) {
		if err != nil {
			e.Warn("waiting for the store, up to %s: %v", max(d, 0), err)
		} else {
			e.Warn("the store is back after %s", after.Round(time.Second))
		}
	}}, nil
}
