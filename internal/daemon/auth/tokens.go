package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// tokenPrefix helps scanners find leaked secrets of Holdfast.
const tokenPrefix = "hf_"

const (
	maxTokens = 1000
	usedEvery = time.Minute // minimum interval between writes of used_at
)

var errCredential = errors.New("the token is invalid, revoked or expired")

type digest = [sha256.Size]byte

// tokens gives access to the tokens in the file of a folder.
type tokens struct {
	path  string
	clock func() time.Time

	mu     sync.Mutex
	seen   fileVersion // the state of the file when it was last read
	stored []storedToken
	used   map[string]time.Time // not written yet
}

type storedToken struct {
	api.Token
	digest digest
}

func openTokens(dir string, clock func() time.Time) (*tokens, error) {
	if dir == "" {
		return nil, invalid("auth: the folder for tokens is not set")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	t := &tokens{path: filepath.Join(dir, "tokens.json"), clock: clock, used: map[string]time.Time{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t, t.refresh()
}

// newSecret returns 256 random bits with the prefix.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // Read never returns an error: if it fails, it ends the program
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// newID returns the id of a credential; it is not secret.
func newID(kind string) string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return kind + "_" + hex.EncodeToString(b[:])
}

// create stores a token that was checked, and returns the token's secret.
func (t *tokens) create(tok api.Token) (string, error) {
	secret := newSecret()
	err := t.change(func() error {
		if len(t.stored) >= maxTokens {
			return invalid("the limit of %d tokens is reached", maxTokens).with("holdfast daemon token revoke ID")
		}
		t.stored = append(t.stored, storedToken{tok, sha256.Sum256([]byte(secret))})
		return nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// check validates and completes a new token.
func (t *tokens) check(tok *api.Token) error {
	now := t.clock()
	tok.ID, tok.Created, tok.Used = newID("tok"), now.UTC(), nil
	tok.Name = strings.TrimSpace(tok.Name)
	switch {
	case tok.Name == "" || len(tok.Name) > 100 || strings.ContainsFunc(tok.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return invalid("a token needs a name of 1 to 100 bytes without control characters")
	case len(tok.Scopes) == 0:
		return invalid("a token needs a scope").with("read, run, approve or admin")
	case tok.Expires != nil && !tok.Expires.After(now):
		return invalid("the expiry %s is in the past", tok.Expires.Format(time.RFC3339))
	}
	for _, s := range tok.Scopes {
		if !slices.Contains(routes.Scopes(), s) {
			return invalid("%q is not a scope", s).with("read, run, approve or admin")
		}
	}
	tok.Scopes = slices.Sorted(slices.Values(tok.Scopes))
	tok.Scopes = slices.Compact(tok.Scopes)
	if tok.Expires != nil {
		at := tok.Expires.UTC()
		tok.Expires = &at
	}
	return nil
}

func (t *tokens) revoke(id string) error {
	return t.change(func() error {
		n := len(t.stored)
		t.stored = slices.DeleteFunc(t.stored, func(k storedToken) bool { return k.ID == id })
		if len(t.stored) == n {
			return noToken(id)
		}
		return nil
	})
}

func noToken(id string) error {
	return &Error{ErrUnknown, fmt.Sprintf("no token %q", id), "holdfast daemon token list"}
}

// find returns the token with this id.
func (t *tokens) find(id string) (api.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return api.Token{}, err
	}
	for _, k := range t.stored {
		if k.ID == id {
			return k.Token, nil
		}
	}
	return api.Token{}, noToken(id)
}

func (t *tokens) list() ([]api.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	out := make([]api.Token, len(t.stored))
	for i, k := range t.stored {
		out[i] = k.Token
		out[i].Scopes = slices.Clone(k.Scopes)
		if at, ok := t.used[k.ID]; ok {
			out[i].Used = &at
		}
	}
	slices.SortStableFunc(out, func(a, b api.Token) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// bySecret finds the token with this secret. If there is none, it returns errCredential. It
// compares all digests, each in constant time, so that the time reveals nothing about them.
func (t *tokens) bySecret(secret string) (api.Token, error) {
	sum := sha256.Sum256([]byte(secret))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		return api.Token{}, err
	}
	found := -1
	for i := range t.stored {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.stored[i].digest[:]), i, found)
	}
	if found < 0 || t.stored[found].expired(t.clock()) {
		return api.Token{}, errCredential
	}
	tok := t.stored[found].Token
	t.noteUse(tok)
	return tok, nil
}

func (t *tokens) isActive(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refresh() == nil && slices.ContainsFunc(t.stored, func(k storedToken) bool { return k.ID == id && !k.expired(t.clock()) })
}

func (k *storedToken) expired(now time.Time) bool { return k.Expires != nil && !now.Before(*k.Expires) }

// noteUse stores when a token was used. From time to time, it writes the times to the file. It does
// not wait for the lock. If another program holds the lock, the next use writes the time.
func (t *tokens) noteUse(k api.Token) {
	now := t.clock().UTC().Truncate(time.Second)
	t.used[k.ID] = now
	if k.Used != nil && now.Sub(*k.Used) < usedEvery {
		return
	}
	lock, err := t.lock(false)
	if err != nil || lock == nil {
		return
	}
	defer lock.release()
	if t.refresh() == nil {
		_ = t.write() // this time is only for display; authentication does not depend on it
	}
}

// change reads the file, changes its contents and writes it, with the lock held.
func (t *tokens) change(f func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lock, err := t.lock(true)
	if err != nil {
		return err
	}
	defer lock.release()
	t.seen = fileVersion{}
	if err := t.refresh(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := t.write(); err != nil {
		t.seen = fileVersion{}
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}
