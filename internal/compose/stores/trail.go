package stores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// Trail is a store's trail. It is opened by the first append, so that programs that only read do
// not create a folder or a key, and do not wait. If the trail cannot be opened, every append fails.
type Trail struct {
	Dir   string
	Clock func() time.Time

	err error // why Dir is empty

	mu    sync.Mutex
	trail *audit.Trail
}

// Appended implements [session.AppendObserver].
func (l *Trail) Appended(ctx context.Context, id string, head session.Record) error {
	t, err := l.open()
	if err != nil {
		return err
	}
	return t.Appended(ctx, id, head)
}

// Deleted implements [session.AppendObserver].
func (l *Trail) Deleted(ctx context.Context, id string) error {
	t, err := l.open()
	if err != nil {
		return err
	}
	return t.Deleted(ctx, id)
}

func (l *Trail) open() (*audit.Trail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trail != nil || l.err != nil {
		return l.trail, l.err
	}
	t, err := audit.OpenTrail(l.Dir, &audit.TrailOptions{Clock: l.Clock})
	if err == nil {
		l.trail = t
	}
	return t, err
}

// Close signs new entries. It does nothing if the trail was never opened.
func (l *Trail) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trail == nil {
		return nil
	}
	err := l.trail.Close()
	l.trail = nil
	return err
}

// TrailDir returns the folder of a store's trail. For the default store it is audit/sessions in
// HOLDFAST_HOME; for any other store, the folder's name is derived from the store's name.
func TrailDir(e *env.Env, ref Ref) (string, error) {
	return LocalDir(e, ref, "audit")
}

// LocalDir returns the folder for a store's local files, inside the given folder of the home
// folder.
func LocalDir(e *env.Env, ref Ref, folder string) (string, error) {
	home, err := e.Home()
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(ref.Name, sealedPrefix), ":")
	if ref.IsLocal() {
		path = resolveLinks(path)
	}
	name := "sessions"
	if ref.Scheme != "sqlite" || path != resolveLinks(filepath.Join(home, "sessions.db")) {
		sum := sha256.Sum256([]byte(ref.Scheme + ":" + path))
		name = safeName(strings.TrimSuffix(filepath.Base(path), ".db")) + "-" + hex.EncodeToString(sum[:6])
	}
	return filepath.Join(home, folder, name), nil
}

// resolveLinks resolves the links in the existing part of a path, so that a store has one trail
// under every name.
func resolveLinks(path string) string {
	if plain, err := filepath.EvalSymlinks(path); err == nil {
		return plain
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolveLinks(dir), filepath.Base(path))
	}
	return path
}

// safeName replaces each character of a name that is not safe in a folder name with a hyphen, and
// returns at most 40 characters.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 40)]
}

// ExistingTrailDir returns the folder of a store's trail for reading; url is the value of a flag. It is an
// error if the store is in memory or has no trail yet.
func ExistingTrailDir(e *env.Env, url string, must bool) (string, error) {
	ref, err := Parse(e, url)
	if err != nil {
		return "", err
	}
	if ref.InMemory() {
		return "", outcome.Invalid("a store in memory has no audit trail", "name another store")
	}
	dir, err := TrailDir(e, ref)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); must && err != nil {
		return "", &outcome.Failure{
			Message: "this store has no audit trail in " + dir, Result: outcome.NotFound, Cause: err,
			Advice: "the next session starts it: holdfast run",
		}
	}
	return dir, nil
}
