package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/audit"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// lateTrail is a store's trail that is opened when there is something to witness: who
// only reads makes no folder and no key, and does not wait. A trail that cannot be
// opened refuses every append.
type lateTrail struct {
	dir   string
	err   error // why there is no dir
	clock func() time.Time

	mu    sync.Mutex
	trail *audit.Trail
}

// Appended implements [session.Witness].
func (l *lateTrail) Appended(ctx context.Context, id string, head session.Record) error {
	t, err := l.open()
	if err != nil {
		return err
	}
	return t.Appended(ctx, id, head)
}

// Deleted implements [session.Witness].
func (l *lateTrail) Deleted(ctx context.Context, id string) error {
	t, err := l.open()
	if err != nil {
		return err
	}
	return t.Deleted(ctx, id)
}

func (l *lateTrail) open() (*audit.Trail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trail != nil || l.err != nil {
		return l.trail, l.err
	}
	t, err := audit.OpenTrail(l.dir, &audit.TrailOptions{Clock: l.clock})
	if err == nil {
		l.trail = t
	}
	return t, err
}

// close signs what is new. A trail that nobody needed is not there.
func (l *lateTrail) close() error {
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

// trailDir is the folder of a store's trail: audit/sessions in HOLDFAST_HOME for the
// default store, and a name made of the store's for any other.
func (p *Program) trailDir(ref storeRef) (string, error) {
	return p.beside(ref, "audit")
}

// beside is the place of what this home keeps of a store, in one of its folders.
func (p *Program) beside(ref storeRef, folder string) (string, error) {
	home, err := p.home()
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(ref.name, sealedPrefix), ":")
	if ref.isLocal() {
		path = straight(path)
	}
	name := "sessions"
	if ref.scheme != "sqlite" || path != straight(filepath.Join(home, "sessions.db")) {
		sum := sha256.Sum256([]byte(ref.scheme + ":" + path))
		name = plainName(strings.TrimSuffix(filepath.Base(path), ".db")) + "-" + hex.EncodeToString(sum[:6])
	}
	return filepath.Join(home, folder, name), nil
}

// straight is a path without links as far as it exists: a store has one trail, however
// it is named.
func straight(path string) string {
	if plain, err := filepath.EvalSymlinks(path); err == nil {
		return plain
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(straight(dir), filepath.Base(path))
	}
	return path
}

// plainName is what of a name can be part of a folder's.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 40)]
}

// recorded is the folder of a store's trail, for those who want to read it: url is a
// flag's. A store in memory, or a trail that never began, is an error.
func (p *Program) recorded(url string, must bool) (string, error) {
	ref, err := p.storeRef(url)
	if err != nil {
		return "", err
	}
	if ref.url == inMemory {
		return "", usage("a store in memory has no audit trail", "name another store")
	}
	dir, err := p.trailDir(ref)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); must && err != nil {
		return "", &failure{
			msg: "there is no audit trail of this store in " + dir, out: outcome.NotFound, err: err,
			hint: "it begins with the next session: holdfast run",
		}
	}
	return dir, nil
}
