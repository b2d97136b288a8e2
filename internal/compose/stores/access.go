package stores

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
)

// AccessLog writes the log of logins and tokens of a home folder. The log is in audit/access/log
// and its trail in audit/access, whichever store the daemon uses. Its files are created when the
// first entry is written.
type AccessLog struct {
	env *env.Env

	mu    sync.Mutex
	log   *audit.AccessLog // nil if nothing was recorded yet
	store *file.Store
	trail *Trail
}

// NewAccessLog returns the log in an environment's home folder. The caller closes it.
func NewAccessLog(e *env.Env) *AccessLog { return &AccessLog{env: e} }

// Add records an access.
func (l *AccessLog) Add(ctx context.Context, x audit.Access) error {
	log, err := l.open()
	if err != nil {
		return err
	}
	return log.Add(ctx, x)
}

func (l *AccessLog) open() (*audit.AccessLog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != nil {
		return l.log, nil
	}
	dir, err := accessDir(l.env)
	if err != nil {
		return nil, err
	}
	store, err := file.Open(filepath.Join(dir, "log"), nil)
	if err != nil {
		return nil, err
	}
	l.store, l.trail = store, &Trail{Dir: dir, Clock: l.env.Clock}
	l.log = audit.NewAccessLog(session.New(store, &session.Options{Clock: l.env.Clock, AppendObserver: l.trail}), env.Account())
	return l.log, nil
}

// Close closes the log if it was opened.
func (l *AccessLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	l.log = nil
	return errors.Join(l.store.Close(), l.trail.Close())
}

// accessDir returns the folder of the trail of logins and tokens.
func accessDir(e *env.Env) (string, error) {
	home, err := e.Home()
	return filepath.Join(home, "audit", "access"), err
}

// OpenAccess opens the log of logins and tokens of a home folder for reading, as the session
// [audit.AccessID], and returns the folder of its trail. The error is session.ErrNotFound if
// nothing was recorded yet. The caller calls done.
func OpenAccess(e *env.Env) (s *session.Sessions, dir string, done func(), err error) {
	if dir, err = accessDir(e); err != nil {
		return nil, "", nil, err
	}
	log := filepath.Join(dir, "log")
	if _, err := os.Stat(log); errors.Is(err, os.ErrNotExist) && !trailExists(dir) {
		return nil, "", nil, &outcome.Failure{
			Message: "no logins or tokens are recorded for this home folder", Result: outcome.NotFound, Cause: session.ErrNotFound,
			Advice: "holdfast daemon open, or holdfast daemon token create",
		}
	}
	store, err := file.Open(log, nil)
	if err != nil {
		return nil, "", nil, err
	}
	return session.New(store, &session.Options{Clock: e.Clock}), dir, func() { _ = store.Close() }, nil
}

// trailExists reports whether a folder contains a trail.
func trailExists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "leaves"))
	return err == nil
}
