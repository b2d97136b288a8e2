package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// locks are the locks of this process, by workspace name. The map contains a lock as long as a
// goroutine holds it or waits for it.
type locks struct {
	mu     sync.Mutex
	bySlug map[string]*slugLock
}

type slugLock struct {
	turn  chan struct{} // one token: its holder has the lock
	users int
}

// workspaceLock is the lock of a workspace. It excludes other goroutines and other processes.
type workspaceLock struct {
	dir     *os.Root // of the workspace
	file    *os.File
	release func()
}

// lock takes the lock of a workspace and opens its folder. It waits until the lock is free, the workspace is gone
// ([ErrNotFound]) or the context ends.
func (w *Workspaces) lock(ctx context.Context, op, slug string) (*workspaceLock, error) {
	release, err := w.locks.take(ctx, slug)
	if err != nil {
		return nil, &Error{Op: op, Slug: slug, Err: err, Detail: "this process is already using it"}
	}
	h, err := w.lockFile(ctx, op, slug)
	if err != nil {
		release()
		return nil, err
	}
	h.release = release
	return h, nil
}

// Release releases the lock and closes the folder.
func (h *workspaceLock) Release() {
	_ = h.file.Close() // releases the file lock
	_ = h.dir.Close()
	h.release()
}

func (l *locks) take(ctx context.Context, slug string) (release func(), err error) {
	l.mu.Lock()
	if l.bySlug == nil {
		l.bySlug = map[string]*slugLock{}
	}
	s := l.bySlug[slug]
	if s == nil {
		s = &slugLock{turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		l.bySlug[slug] = s
	}
	s.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(l.bySlug, slug)
		}
	}
	select {
	case <-s.turn:
		return func() { s.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// lockFile takes the lock among processes. It starts again if the file or the folder was removed
// during the wait.
func (w *Workspaces) lockFile(ctx context.Context, op, slug string) (*workspaceLock, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		dir, err := w.open(op, slug)
		if err != nil {
			return nil, err
		}
		f, err := openLock(dir)
		if err != nil {
			return nil, errors.Join(&Error{Op: op, Slug: slug, Err: err}, dir.Close())
		}
		ok, err := diskfile.TryLock(f)
		if errors.Is(err, errors.ErrUnsupported) {
			ok, err = true, nil // without file locks, only goroutines of this process are excluded
		}
		if ok && w.isCurrent(slug, dir, f) {
			return &workspaceLock{dir: dir, file: f}, nil
		}
		if err := errors.Join(err, f.Close(), dir.Close()); err != nil {
			return nil, &Error{Op: op, Slug: slug, Err: err}
		}
		if ok {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, &Error{Op: op, Slug: slug, Err: ctx.Err(), Detail: "another process is using it"}
		case <-time.After(wait):
		}
	}
}

// openLock opens the lock file and creates it if necessary.
func openLock(dir *os.Root) (*os.File, error) {
	seen, err := dir.Lstat(lockName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := dir.OpenFile(lockName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return openLock(dir) // another process created it first
		}
		return f, err
	case err != nil:
		return nil, err
	case !seen.Mode().IsRegular():
		return nil, &Error{Op: "lock", Path: dir.Name() + "/" + lockName, Err: ErrDamaged, Detail: fileTypeText(seen.Mode()) + " instead of the lock file", Advice: "remove it"}
	}
	f, err := dir.OpenFile(lockName, os.O_RDWR|nonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return openLock(dir)
	}
	if err != nil {
		return nil, err
	}
	if err := checkSameFile(seen, f.Stat); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isCurrent reports whether a folder and its lock are still the workspace's.
func (w *Workspaces) isCurrent(slug string, dir *os.Root, lock *os.File) bool {
	now, err := w.open("lock", slug)
	if err != nil {
		return false
	}
	defer now.Close()
	opened, err := dir.Stat(".")
	if err != nil || checkSameFile(opened, func() (fs.FileInfo, error) { return now.Stat(".") }) != nil {
		return false
	}
	seen, err := now.Lstat(lockName)
	return err == nil && checkSameFile(seen, lock.Stat) == nil
}
