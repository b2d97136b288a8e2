package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
)

// accessLog is the log of logins and tokens of this home, whatever the daemon's store is:
// audit/access/log, with its trail in audit/access. Its files are made when there is
// something to put on record.
type accessLog struct {
	p *Program

	mu    sync.Mutex
	log   *audit.AccessLog // nil: nothing was put on record yet
	store *file.Store
	trail *stores.Trail
}

// add puts an access on record.
func (l *accessLog) add(ctx context.Context, x audit.Access) error {
	log, err := l.open()
	if err != nil {
		return err
	}
	return log.Add(ctx, x)
}

func (l *accessLog) open() (*audit.AccessLog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log != nil {
		return l.log, nil
	}
	dir, err := l.p.accessDir()
	if err != nil {
		return nil, err
	}
	store, err := file.Open(filepath.Join(dir, "log"), nil)
	if err != nil {
		return nil, err
	}
	l.store, l.trail = store, &stores.Trail{Dir: dir, Clock: l.p.Now}
	l.log = audit.NewAccessLog(session.New(store, &session.Options{Clock: l.p.Now, Witness: l.trail}), person())
	return l.log, nil
}

func (l *accessLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	l.log = nil
	return errors.Join(l.store.Close(), l.trail.Close())
}

// accessDir is the folder of the trail of logins and tokens.
func (p *Program) accessDir() (string, error) {
	home, err := p.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "audit", "access"), nil
}

// accessed opens the log of logins and tokens for reading. There is none before the first:
// the error is session.ErrNotFound then.
func (p *Program) accessed() (s *session.Sessions, dir string, done func(), err error) {
	if dir, err = p.accessDir(); err != nil {
		return nil, "", nil, err
	}
	log := filepath.Join(dir, "log")
	if _, err := os.Stat(log); errors.Is(err, os.ErrNotExist) && !p.hasLeaves(dir) {
		return nil, "", nil, &failure{
			msg: "nobody has logged in to the daemon of this home, or made a token", out: outcome.NotFound, err: session.ErrNotFound,
			hint: "holdfast daemon open, or holdfast daemon token create",
		}
	}
	store, err := file.Open(log, nil)
	if err != nil {
		return nil, "", nil, err
	}
	return session.New(store, &session.Options{Clock: p.Now}), dir, func() { _ = store.Close() }, nil
}

// hasLeaves reports whether a trail has begun in a folder.
func (p *Program) hasLeaves(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "leaves"))
	return err == nil
}

// verifyAccess verifies the log of logins and tokens against its trail; nil when there is none.
func (p *Program) verifyAccess(ctx context.Context, o *audit.VerifyOptions) (*audit.Report, string, error) {
	s, dir, done, err := p.accessed()
	if errors.Is(err, session.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer done()
	r, err := audit.Verify(ctx, s, dir, o)
	return r, dir, err
}

// authOfHome reads the tokens of the home, whether a daemon runs or not. What is done with
// them is on record.
func (p *Program) authOfHome() (*auth.Auth, func(), error) {
	home, err := p.home()
	if err != nil {
		return nil, nil, err
	}
	log := &accessLog{p: p}
	a, err := auth.New(&auth.Options{Dir: listen.Dir(home), Clock: p.Now, Record: log.add})
	if err != nil {
		return nil, nil, err
	}
	return a, func() {
		_ = a.Close() // it has refused nobody
		if err := log.close(); err != nil {
			p.warn("the audit log of tokens: %v", err)
		}
	}, nil
}

// caller is who runs this program, for what it does to tokens.
func caller() auth.Caller {
	return auth.Caller{Name: person(), Via: "cli", From: fmt.Sprintf("uid %d pid %d", os.Getuid(), os.Getpid())}
}
