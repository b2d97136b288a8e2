package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

const lockName = "lock"

// saveEvery is the number of bytes of new records after which the summary is saved, so that a
// reader has few records to fold after a crash.
const saveEvery = 4 << 20

// handle is a session with its files open for changes.
type handle struct {
	s  *Store
	id string

	refs int   // under Store.mu
	used int64 // under Store.mu

	mu           sync.Mutex // guards everything below
	dir          *os.Root
	lock         *os.File
	ino          uint64 // inode of the lock file
	log          *os.File
	lease        *os.File
	leaseContent leaseFile // content of lease

	loaded   bool // summary is valid up to its End
	named    bool // the names of the files are durable
	summary  logSummary
	saved    int64 // the End of the summary that is on disk
	corrupt  int64
	detail   string
	restored *session.Recovery // to be reported

	// For readers, which do not wait for mu.
	acked    atomic.Int64 // later bytes may not be durable
	writing  atomic.Bool
	poisoned atomic.Bool
}

// enter takes the session's locks; the caller calls leave. With create, the directory is made if
// it is missing; the caller then holds the names' lock.
func (h *handle) enter(ctx context.Context, create bool) error {
	h.mu.Lock()
	err := h.enterLocked(ctx, create)
	if err != nil {
		h.mu.Unlock()
	}
	return err
}

func (h *handle) enterLocked(ctx context.Context, create bool) error {
	for {
		if err := h.s.ready(ctx, "open", h.id); err != nil {
			return err
		}
		if h.dir == nil {
			dir, err := openDir(h.s.root, h.id)
			if errors.Is(err, fs.ErrNotExist) && create {
				if err = h.s.makeDir(h.id); err == nil {
					dir, err = openDir(h.s.root, h.id)
				}
			}
			if err != nil {
				return err
			}
			h.dir = dir
		}
		if h.lock == nil {
			lock, err := h.s.disk.open(h.dir, lockName, os.O_RDWR|os.O_CREATE)
			if errors.Is(err, fs.ErrNotExist) { // the directory was deleted meanwhile
				h.closeFiles()
				if _, err = h.s.root.Lstat(h.id); err == nil {
					continue
				}
			}
			if err != nil {
				return err
			}
			st, _, err := statFile(lock)
			if err != nil {
				lock.Close()
				return err
			}
			h.lock, h.ino = lock, st.Ino
		}
		if err := waitLock(ctx, h.lock, h.s.opt.LockWait); err != nil {
			return err
		}
		st, err := statAt(h.s.dir, h.id+"/"+lockName)
		if err == nil && st.Ino == h.ino {
			return nil
		}
		h.closeFiles() // deleted in the meantime
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (h *handle) leave() {
	if h.lock != nil {
		diskfile.Unlock(h.lock)
	}
	h.mu.Unlock()
}

// closeFiles forgets everything except that the session is poisoned.
func (h *handle) closeFiles() {
	for _, f := range []*os.File{h.log, h.lease, h.lock} {
		if f != nil {
			f.Close()
		}
	}
	if h.dir != nil {
		h.dir.Close()
	}
	h.dir, h.log, h.lease, h.lock = nil, nil, nil, nil
	h.leaseContent = leaseFile{}
	h.loaded, h.named, h.summary, h.saved, h.corrupt = false, false, logSummary{}, 0, 0
}

// load brings the summary up to the end of the log, which another process may have moved, and cuts
// a torn tail. Afterwards h.summary.End is 0 if there is no session; the log is open if it exists
// or create is set.
func (h *handle) load(create bool) error {
	if err := h.usable(); err != nil {
		return err
	}
	if h.log == nil {
		flag := os.O_RDWR
		if create {
			flag |= os.O_CREATE
		}
		f, err := h.s.disk.open(h.dir, logName, flag)
		if errors.Is(err, fs.ErrNotExist) {
			if h.summary.End > 0 { // the log existed and was removed
				h.summary, h.loaded, h.corrupt, h.detail = logSummary{}, false, 1, "its log was removed"
			}
			return nil
		}
		if err != nil {
			return err
		}
		h.log, h.loaded = f, false
	}
	st, names, err := statFile(h.log)
	if err != nil {
		return err
	}
	if names == 0 { // another process erased payloads, which creates a new log file
		h.log.Close()
		h.log, h.loaded = nil, false
		return h.load(create)
	}
	if h.loaded && st.Size == h.summary.End {
		return nil
	}
	if h.loaded && st.Size < h.summary.End {
		return h.damaged(h.summary.Meta.Head, "the log became shorter")
	}
	return h.fold(st)
}

// fold reads the new records of the log.
func (h *handle) fold(st fileStamp) error {
	m := h.summary
	if !h.loaded {
		m = readSummary(h.s, h.dir, metaName)
		if m.Stamp.Ino == st.Ino && m.Verified && m.End > st.Size {
			return h.damaged(m.Meta.Head, "acknowledged records are missing at the end of the log")
		}
		if !m.fits(h.log, st.Size) {
			m = logSummary{}
		}
		h.corrupt = 0
		if m.End > 0 && (!m.Verified || m.Stamp != st) {
			seq, why, err := verify(h.log, m.End)
			if err != nil {
				return err
			}
			h.corrupt, h.detail = seq, why
		}
		h.saved = m.End
	}
	out, err := fold(h.id, h.log, m, st.Size, false)
	if err != nil {
		return err
	}
	if h.corrupt == 0 {
		h.corrupt, h.detail = out.corrupt, out.detail
	}
	if h.corrupt == 0 && out.End == 0 {
		lost, _, err := h.s.lost(h.dir)
		if err != nil {
			return err
		}
		if lost {
			h.corrupt, h.detail = 1, lostDetail
		}
	}
	h.summary, h.loaded = out.logSummary, true
	h.summary.Verified = h.corrupt == 0
	h.acked.Store(h.summary.End)
	if h.corrupt == 0 && st.Size > h.summary.End {
		return h.cut(st.Size)
	}
	return nil
}

func (h *handle) damaged(seq int64, detail string) error {
	return corrupt("open", h.id, seq, detail)
}

// cut moves the bytes after the last complete batch to a separate file. These bytes were not
// acknowledged, because an acknowledged batch is complete.
func (h *handle) cut(size int64) error {
	n := size - h.summary.End
	name, err := h.copyTail(h.summary.End, n)
	if err != nil {
		return err
	}
	if err := h.s.disk.truncate(h.log, h.summary.End); err != nil {
		return err
	}
	if err := h.s.disk.sync(h.log); err != nil {
		return h.poison(err)
	}
	if r := h.restored; r != nil {
		n += r.CutBytes
	}
	h.restored = &session.Recovery{Session: h.id, Head: h.summary.Meta.Head, CutBytes: n, TailFile: h.dir.Name() + "/" + name}
	return nil
}

// copyTail copies n bytes of the log to a file next to it.
func (h *handle) copyTail(off, n int64) (string, error) {
	name := fmt.Sprintf("torn-%d-%d.bin", off, n)
	for i := 2; ; i++ {
		if _, err := h.dir.Lstat(name); err != nil {
			break
		}
		name = fmt.Sprintf("torn-%d-%d.%d.bin", off, n, i)
	}
	f, err := h.s.disk.open(h.dir, name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, min(n, 1<<20))
	for done := int64(0); done < n && err == nil; {
		var got int
		got, err = h.log.ReadAt(b[:min(int64(len(b)), n-done)], off+done)
		if got > 0 {
			err = h.s.disk.write(f, b[:got], done)
			done += int64(got)
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if err == nil {
		err = h.s.disk.sync(f)
	}
	if err == nil {
		err = h.s.disk.syncDir(h.dir)
	}
	if err != nil {
		_ = h.dir.Remove(name)
	}
	return name, err
}

// poison makes all later operations fail: after a failed sync the content of the disk is unknown.
func (h *handle) poison(err error) error {
	h.poisoned.Store(true)
	return &session.Error{
		Op: "append", Session: h.id, Err: session.ErrPoisoned, Detail: err.Error(),
		Hint: "check the disk, then restart the programs that use this store",
	}
}

// usable returns ErrPoisoned after a call of [handle.poison].
func (h *handle) usable() error {
	if !h.poisoned.Load() {
		return nil
	}
	return &session.Error{Op: "append", Session: h.id, Err: session.ErrPoisoned, Hint: "restart the programs that use this store"}
}

// saveSummary writes the cache. If this fails, only time is lost and no data.
func (h *handle) saveSummary() {
	if !h.loaded || h.dir == nil || h.log == nil || h.summary.End == h.saved || h.poisoned.Load() {
		return
	}
	st, names, err := statFile(h.log)
	if err != nil || names == 0 || st.Size != h.summary.End {
		return
	}
	h.summary.Stamp = st
	if h.s.disk.replace(h.dir, metaName, h.summary.encode(), false) == nil {
		h.saved = h.summary.End
	}
}

// Recover implements [session.Recoverer]: it checks the log, moves a torn tail to a separate file
// and reports that. It returns ErrCorrupt if valid records follow a damaged one.
func (s *Store) Recover(ctx context.Context, id string) (*session.Recovery, error) {
	h, err := s.use("open", id)
	if err != nil {
		return nil, err
	}
	defer s.release(h)
	if err := h.enter(ctx, false); err != nil {
		return nil, explain("open", id, err)
	}
	defer h.leave()
	tightenAll(h.dir)
	if err := h.load(false); err != nil {
		return nil, explain("open", id, err)
	}
	switch {
	case h.corrupt != 0:
		return nil, h.damaged(h.corrupt, h.detail)
	case h.summary.End == 0:
		return nil, &session.Error{Op: "open", Session: id, Err: session.ErrNotFound}
	}
	r := h.restored
	h.restored = nil
	return r, nil
}
