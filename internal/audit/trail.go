package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

// TrailOptions are the options of [OpenTrail].
type TrailOptions struct {
	Clock func() time.Time // default time.Now
	// Name is the name of a new key and its checkpoints; default the host's name. It is UTF-8 and
	// contains no spaces or plus signs.
	Name string
}

// Trail is the audit trail next to a store. After every append it records the last record of the
// log. Several programs may append to one trail at the same time. It is a [session.AppendObserver]
// and safe for concurrent use.
//
// The Trail signs a checkpoint after every 1,024 of its leaves, and when it is closed.
type Trail struct {
	folder string
	clock  func() time.Time
	name   string

	signing  sync.Mutex // held so that only one checkpoint is made at a time; guards the fields below
	pair     keyPair    // the pair of the key that was read last
	verified []byte     // the last checkpoint that was verified with that key pair

	mu       sync.Mutex // held so that only one leaf is written at a time; guards the fields below
	leaves   *os.File
	lock     *os.File
	end      int64           // where this trail's last leaf ends, in bytes
	last     map[string]leaf // the last leaf of each session, if this trail knows it
	unsigned int             // number of leaves written by this Trail that no checkpoint covers
	closed   bool
}

// The files of a trail's folder; see docs/formats/audit-trail.md.
const (
	leavesName     = "leaves"
	leavesLock     = "leaves.lock"
	treeName       = "tree"
	checkpointName = "checkpoint"
	historyName    = "checkpoints"
	checkpointLock = "checkpoint.lock"
	keyName        = "key"
	verifierName   = "key.pub"
	tornPrefix     = "torn-"
)

const (
	// signEvery is the number of leaves of this Trail after which a checkpoint is signed.
	signEvery = 1024
	// tailBytes is how many bytes at the end of the leaves are searched for a session's last leaf.
	tailBytes = 64 << 10
)

const inspectHint = "run holdfast audit verify to see the change; to start a new trail, move this folder away and keep it"

func trailError(op, dir string, err error, detail, hint string) error {
	return &session.Error{Op: op, Err: err, Detail: detail + " (" + dir + ")", Hint: hint}
}

// OpenTrail opens the trail in a folder. If the folder does not exist, OpenTrail creates it with
// mode 0700. If a crash left an incomplete line, OpenTrail moves the line from the leaves to a
// separate file. It returns an error if others can write to the folder, or if the leaves end before
// the last checkpoint.
func OpenTrail(dir string, o *TrailOptions) (*Trail, error) {
	t := &Trail{folder: dir, clock: time.Now, last: map[string]leaf{}}
	if o != nil {
		t.name = o.Name
		if o.Clock != nil {
			t.clock = o.Clock
		}
	}
	if t.name == "" {
		t.name = hostName()
	}
	if err := checkName(t.name); err != nil {
		return nil, trailError("open trail", dir, session.ErrInvalid, err.Error(), "choose another name")
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.closeFiles())
	}
	return t, nil
}

func (t *Trail) open() (err error) {
	if err := makeFolder(t.folder); err != nil {
		return trailError("open trail", t.folder, err, "the folder cannot be used", "set its mode with chmod 700, or move it away")
	}
	if t.lock, err = t.file(leavesLock, os.O_RDWR); err != nil {
		return err
	}
	if t.leaves, err = t.file(leavesName, os.O_RDWR|os.O_APPEND); err != nil {
		return err
	}
	unlock, err := lockFile(t.lock)
	if err != nil {
		return err
	}
	defer unlock()
	cp, _, err := readCheckpoint(t.folder)
	if err != nil {
		return trailError("open trail", t.folder, session.ErrCorrupt, err.Error(), inspectHint)
	}
	return t.repairTail(cp)
}

// file opens a file of the trail and creates it with mode 0600 if necessary.
func (t *Trail) file(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(t.folder, name), flags|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return nil, trailError("open trail", t.folder, err, "a file of the trail cannot be opened", "make sure that you own the folder and its files and can write to them")
	}
	return f, nil
}

// makeFolder creates a private folder, or checks that an existing one is private.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is not a folder")
	case private && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("other users can write to it (mode %04o)", info.Mode().Perm())
	case private && info.Mode().Perm()&0o011 != 0:
		return checkFiles(dir)
	}
	return nil
}

// checkFiles checks the files of a folder that other users can enter. They may read all files
// except the key, and must not be able to write to any.
func checkFiles(dir string) error {
	for _, name := range []string{keyName, verifierName, leavesName, treeName, checkpointName, historyName} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()
		if mode&0o022 != 0 || name == keyName && mode&0o044 != 0 {
			return fmt.Errorf("other users can read or write its file %s (mode %04o)", name, mode)
		}
	}
	return nil
}

// Appended implements [session.AppendObserver]. If a leaf would repeat the last leaf of the
// session, it is not written.
func (t *Trail) Appended(ctx context.Context, id string, head session.Record) error {
	if err := session.CheckID(id); err != nil {
		return err
	}
	due, err := t.write(leaf{session: id, seq: head.Seq, digest: head.Digest})
	if err != nil || !due {
		return err
	}
	_, err = t.Checkpoint()
	return err
}

// Deleted implements [session.AppendObserver].
func (t *Trail) Deleted(ctx context.Context, id string) error {
	if err := session.CheckID(id); err != nil {
		return err
	}
	_, err := t.write(leaf{session: id, deleted: true})
	return err
}

// write appends a leaf and reports whether a checkpoint is due. It does not sync. If the process
// ends, nothing is lost. If the machine fails and a leaf is lost, the leaf is written again when
// the session is next opened.
func (t *Trail) write(l leaf) (due bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false, trailError("append to trail", t.folder, session.ErrClosed, "the trail was closed", "")
	}
	unlock, err := lockFile(t.lock)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := t.settle(); err != nil {
		return false, err
	}
	if known, err := t.hasLeaf(l); known || err != nil {
		return false, err
	}
	l.time = t.clock()
	line := l.append(make([]byte, 0, maxLeaf))
	if n, err := t.leaves.Write(line); err != nil {
		if n > 0 {
			err = errors.Join(err, t.leaves.Truncate(t.end))
		}
		return false, trailError("append to trail", t.folder, err, "the leaf could not be written", "free disk space, and make the folder writable")
	}
	t.end += int64(len(line))
	t.last[l.session] = l
	if t.unsigned++; t.unsigned == 1 {
		go t.prepare() // Close waits for it
	}
	return t.unsigned >= signEvery, nil
}

// settle finds out where the leaves end now. The lock is held.
func (t *Trail) settle() error {
	info, err := t.leaves.Stat()
	switch {
	case err != nil:
		return trailError("append to trail", t.folder, err, "the file of leaves cannot be examined", "")
	case unlinked(info):
		return trailError("append to trail", t.folder, session.ErrPoisoned, "the file of leaves was removed while it was in use", "start the program again")
	case info.Size() == t.end:
		return nil
	case info.Size() < t.end:
		return trailError("append to trail", t.folder, session.ErrCorrupt, "the file of leaves became shorter while it was in use", inspectHint)
	}
	tail := make([]byte, min(info.Size(), maxLeaf))
	if _, err := t.leaves.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return trailError("append to trail", t.folder, err, "the leaves cannot be read", "")
	}
	if i := bytes.LastIndexByte(tail[:len(tail)-1], '\n') + 1; completeLines(tail[i:]) == len(tail)-i {
		t.end = info.Size()
		return nil
	}
	return t.repairTail(checkpoint{bytes: t.end}) // another process ended while it wrote a line
}

// hasLeaf reports whether l is already the trail's last leaf of its session.
func (t *Trail) hasLeaf(l leaf) (bool, error) {
	if l.deleted {
		return false, nil
	}
	before, ok := t.last[l.session]
	if !ok {
		tail := make([]byte, min(t.end, tailBytes))
		if _, err := t.leaves.ReadAt(tail, t.end-int64(len(tail))); err != nil {
			return false, trailError("append to trail", t.folder, err, "the leaves cannot be read", "")
		}
		before, ok = lastOf(tail, l.session)
	}
	return ok && !before.deleted && before.seq == l.seq && before.digest == l.digest, nil
}

// repairTail moves an incomplete last line of the leaves to a separate file. It never cuts
// leaves that a checkpoint covers. The lock is held.
func (t *Trail) repairTail(cp checkpoint) error {
	info, err := t.leaves.Stat()
	if err != nil {
		return trailError("open trail", t.folder, err, "the file of leaves cannot be examined", "")
	}
	size := info.Size()
	if size < cp.bytes {
		return trailError("open trail", t.folder, session.ErrCorrupt,
			fmt.Sprintf("the leaves have %d bytes, but the last checkpoint covers %d: their end is missing", size, cp.bytes), inspectHint)
	}
	if t.end = size; size == cp.bytes {
		return nil
	}
	rest := make([]byte, size-cp.bytes)
	if _, err := t.leaves.ReadAt(rest, cp.bytes); err != nil {
		return trailError("open trail", t.folder, err, "the leaves cannot be read", "")
	}
	n := completeLines(rest)
	if n == len(rest) {
		return nil
	}
	t.end = cp.bytes + int64(n)
	name := fmt.Sprintf("%s%d-%d", tornPrefix, t.end, len(rest)-n)
	if err := diskfile.Write(filepath.Join(t.folder, name), rest[n:]); err != nil {
		return trailError("open trail", t.folder, err, "the incomplete last line cannot be moved to a separate file", "free disk space, and make the folder writable")
	}
	return t.leaves.Truncate(t.end)
}

// Dir returns the trail's folder.
func (t *Trail) Dir() string { return t.folder }

// Close signs a checkpoint if leaves were added with this Trail, and then closes the Trail. A
// second call does nothing.
func (t *Trail) Close() error {
	t.mu.Lock()
	fresh, closed := t.unsigned > 0, t.closed
	t.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if fresh {
		_, err = t.Checkpoint()
	}
	t.signing.Lock()
	defer t.signing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return errors.Join(err, t.closeFiles())
}

func (t *Trail) closeFiles() error {
	var err error
	for _, f := range []io.Closer{t.leaves, t.lock} {
		if f != (*os.File)(nil) {
			err = errors.Join(err, f.Close())
		}
	}
	t.leaves, t.lock = nil, nil
	return err
}

// syncFolder syncs a folder, so that the names of its files are durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not supported on every system
	return d.Close()
}
