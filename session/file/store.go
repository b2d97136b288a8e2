package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Names in the store's directory. Session ids never start with a dot.
const (
	formatName    = ".format"
	storeLockName = ".lock"
	epochName     = ".epoch"
	holdersName   = ".holders"
	deletedPrefix = ".deleted-"
	gonePrefix    = ".gone-"
)

const formatText = "holdfast file store 1\n"

// Options are the options of [Open]. The zero value works.
type Options struct {
	// OpenSessions is the maximum number of sessions whose files stay open between appends; default
	// 64. Each session uses up to four file descriptors.
	OpenSessions int
	// LockWait is how long an append waits for another process's append before returning ErrBusy;
	// default 10 s.
	LockWait time.Duration
}

// Store stores sessions in a directory. It is safe for concurrent use, also by several processes.
// It implements [session.Store], [session.Leaser], [session.Deleter], [session.Rebuilder],
// [session.Recoverer] and io.Closer.
type Store struct {
	opt     Options
	disk    diskOps
	root    *os.Root
	dir     *os.File // root again, for comparing stamps
	dirInfo os.FileInfo

	namesMu sync.Mutex // guards, together with names.lock, creating and deleting sessions
	lock    *os.File
	folded  foldedNames

	mu      sync.Mutex
	closed  bool
	handles map[string]*handle
	clock   int64 // counts uses of handles

	summariesMu sync.Mutex
	summaries   map[string]logSummary // cached list entries by directory name

	holders      *diskfile.LivenessLocks
	watchers     *logwatch.Watchers
	pollInterval time.Duration // see notifier; 0 means the default
}

// Open opens the store in dir, and creates it with mode 0700 if it does not exist. The caller
// closes it. It returns ErrNewer if a newer version wrote the store, and ErrReadOnly if the store
// does not exist and cannot be created.
func Open(dir string, o *Options) (*Store, error) {
	return open(dir, o, diskOps{})
}

func open(dir string, o *Options, disk diskOps) (*Store, error) {
	if !supported {
		return nil, &session.Error{Op: "open store", Err: session.ErrUnsupported, Detail: "file stores are supported on Unix systems only"}
	}
	s := &Store{disk: disk, handles: map[string]*handle{}, summaries: map[string]logSummary{}}
	if o != nil {
		s.opt = *o
	}
	if s.opt.OpenSessions <= 0 {
		s.opt.OpenSessions = 64
	}
	if s.opt.LockWait <= 0 {
		s.opt.LockWait = 10 * time.Second
	}
	if err := s.openRoot(dir); err != nil {
		s.closeRoot()
		return nil, explain("open store", "", err)
	}
	s.holders = diskfile.NewLivenessLocks(func() (*os.File, error) { return s.disk.open(s.root, holdersName, os.O_RDWR|os.O_CREATE) })
	s.watchers = logwatch.New(s, s.newNotifier)
	return s, nil
}

func (s *Store) openRoot(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return err
	}
	if s.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	if s.dir, err = s.root.Open("."); err != nil {
		return err
	}
	if s.dirInfo, err = s.dir.Stat(); err != nil {
		return err
	}
	return s.checkFormat()
}

// checkFormat rejects a directory that a newer version wrote, and writes the format version to a
// new directory.
func (s *Store) checkFormat() error {
	f, err := s.disk.open(s.root, formatName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return s.disk.replace(s.root, formatName, []byte(formatText), true)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := s.dir.Stat(); err == nil && fi.Mode().Perm()&0o077 != 0 && fi.Mode()&fs.ModeSticky == 0 {
		_ = s.dir.Chmod(fi.Mode().Perm() &^ 0o077) // a directory with the sticky bit is shared
	}
	tighten(s.root, formatName, storeLockName, epochName)
	b := make([]byte, 64)
	n, _ := f.ReadAt(b, 0)
	if got := string(b[:n]); got != formatText && got != "" {
		return &session.Error{
			Op: "open store", Err: session.ErrNewer,
			Detail: fmt.Sprintf("%s contains %q", formatName, strings.TrimSpace(got)), Hint: "upgrade holdfast to use this directory",
		}
	}
	return nil
}

func (s *Store) closeRoot() {
	for _, f := range []*os.File{s.lock, s.dir} {
		if f != nil {
			f.Close()
		}
	}
	if s.root != nil {
		s.root.Close()
	}
}

// Close waits for appends in progress, writes the caches and closes all files. Later calls of
// other methods return ErrClosed; a second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := make([]*handle, 0, len(s.handles))
	for _, h := range s.handles {
		open = append(open, h)
	}
	s.mu.Unlock()
	s.watchers.Close()
	for _, h := range open {
		h.mu.Lock()
		h.saveSummary()
		h.closeFiles()
		h.mu.Unlock()
	}
	s.namesMu.Lock()
	defer s.namesMu.Unlock()
	s.holders.Close()
	s.closeRoot()
	return nil
}

// use returns the handle of a session without opening anything. The caller returns it with
// release.
func (s *Store) use(op, id string) (*handle, error) {
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &session.Error{Op: op, Session: id, Err: session.ErrClosed}
	}
	h := s.handles[id]
	if h == nil {
		h = &handle{s: s, id: id}
		s.handles[id] = h
	}
	s.clock++
	h.refs, h.used = h.refs+1, s.clock
	return h, nil
}

// release gives a handle back. If too many handles are open, it closes the one that has been idle
// the longest. A poisoned handle is kept, so that the poison is not forgotten.
func (s *Store) release(h *handle) {
	s.mu.Lock()
	h.refs--
	var old *handle
	if len(s.handles) > s.opt.OpenSessions {
		for _, c := range s.handles {
			if c.refs == 0 && !c.poisoned.Load() && (old == nil || c.used < old.used) {
				old = c
			}
		}
		if old != nil {
			delete(s.handles, old.id)
		}
	}
	s.mu.Unlock()
	if old != nil {
		old.mu.Lock()
		defer old.mu.Unlock()
		old.saveSummary()
		old.closeFiles()
	}
}

// peek returns the handle of a session if there is one.
func (s *Store) peek(id string) *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handles[id]
}

// ready returns ErrClosed or the context's error.
func (s *Store) ready(ctx context.Context, op, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &session.Error{Op: op, Session: id, Err: session.ErrClosed}
	}
	return ctx.Err()
}

// lockNames prevents other processes from creating and deleting sessions. The caller calls the
// returned function.
func (s *Store) lockNames(ctx context.Context) (func(), error) {
	s.namesMu.Lock()
	err := s.ready(ctx, "lock store", "")
	if err == nil && s.lock == nil {
		s.lock, err = s.disk.open(s.root, storeLockName, os.O_RDWR|os.O_CREATE)
	}
	if err == nil {
		err = waitLock(ctx, s.lock, s.opt.LockWait)
	}
	if err != nil {
		s.namesMu.Unlock()
		return nil, err
	}
	return func() {
		diskfile.Unlock(s.lock)
		s.namesMu.Unlock()
	}, nil
}

// waitLock takes a file's lock.
func waitLock(ctx context.Context, f *os.File, wait time.Duration) error {
	ok, err := diskfile.TryLock(f)
	if ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLockWait)
	defer cancel()
	pause := 20 * time.Microsecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if ok, err = diskfile.TryLock(f); ok || err != nil {
			return err
		}
		pause = min(2*pause, 5*time.Millisecond)
		timer.Reset(pause)
	}
}

var errLockWait = &session.Error{
	Op: "lock", Err: session.ErrBusy, Detail: "another process has not finished a write in time",
	Hint: "look for a stopped holdfast process",
}
