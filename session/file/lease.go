package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

const leaseName = "lease"

// leaseFile is the content of a session's lease file.
type leaseFile struct {
	Epoch int64          `json:"epoch"` // the highest epoch ever used
	Lease *session.Lease `json:"lease"` // nil if there is no holder
}

func (r leaseFile) encode() []byte {
	body, _ := json.Marshal(r) // plain fields cannot fail
	b := append(make([]byte, 8, len(body)+10), ' ')
	putHex(b, checksum(body))
	return append(append(b, body...), '\n')
}

func decodeLease(b []byte) (r leaseFile, ok bool) {
	if len(b) < 10 || b[8] != ' ' || b[len(b)-1] != '\n' {
		return r, false
	}
	crc, ok := getHex(b)
	body := b[9 : len(b)-1]
	if !ok || checksum(body) != crc || json.Unmarshal(body, &r) != nil {
		return leaseFile{}, false
	}
	return r, true
}

// readLease reads the lease file, unless it is the same file as at the last read. A file that was
// replaced has no names left.
func (h *handle) readLease() error {
	if h.lease != nil {
		if _, names, err := statFile(h.lease); err == nil && names > 0 {
			return nil
		}
		h.lease.Close()
		h.lease = nil
	}
	var err error
	h.lease, h.leaseContent, err = h.s.openLease(h.dir, h.id)
	return err
}

// openLease opens and reads a lease file, or returns nil if there is none.
func (s *Store) openLease(dir *os.Root, id string) (*os.File, leaseFile, error) {
	f, err := s.disk.open(dir, leaseName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, leaseFile{}, nil
	}
	if err != nil {
		return nil, leaseFile{}, err
	}
	b := make([]byte, 64<<10)
	n, _ := f.ReadAt(b, 0)
	r, ok := decodeLease(b[:n])
	if !ok {
		f.Close()
		return nil, leaseFile{}, &session.Error{
			Op: "read lease", Session: id, Err: session.ErrCorrupt, Detail: f.Name() + " is damaged",
			Hint: "make sure that no process writes the session, then remove the file",
		}
	}
	return f, r, nil
}

// Held implements [session.Leaser]. It takes no lock, because the file is replaced atomically.
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	if err := s.ready(ctx, "read lease", id); err != nil {
		return nil, err
	}
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	dir, err := openDir(s.root, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("read lease", id, err)
	}
	defer dir.Close()
	f, r, err := s.openLease(dir, id)
	if err != nil || f == nil {
		return nil, explain("read lease", id, err)
	}
	return s.alive(id, r), f.Close()
}

func (h *handle) writeLease(r leaseFile) error {
	return h.s.disk.replace(h.dir, leaseName, r.encode(), true)
}

// fence returns ErrFenced if epoch is not the epoch of the current lease.
func (h *handle) fence(epoch int64) error {
	if err := h.readLease(); err != nil {
		return err
	}
	if h.leaseContent.Lease == nil || h.leaseContent.Epoch != epoch {
		return &session.Error{Op: "append", Session: h.id, Err: session.ErrFenced}
	}
	return nil
}

// Acquire implements [session.Leaser].
func (s *Store) Acquire(ctx context.Context, id string, l session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	l = l.Stored()
	var taken int64
	err := s.withLease(ctx, "acquire", id, true, func(h *handle) error {
		if err := h.usable(); err != nil { // a lease of a poisoned session would be useless
			return err
		}
		if h.leaseContent.Lease != nil {
			cur := s.alive(id, h.leaseContent)
			if !steal(*cur) {
				return &session.BusyError{Session: id, Lease: *cur}
			}
			l = l.TakenFrom(*cur)
		}
		floor, err := s.epochFloor()
		if err != nil {
			return err
		}
		l.Epoch = max(h.leaseContent.Epoch, floor) + 1
		if err := s.holders.Lock(id, l.Epoch); err != nil { // before another process can read the lease
			return err
		}
		taken = l.Epoch
		return h.writeLease(leaseFile{Epoch: l.Epoch, Lease: &l})
	})
	if err != nil {
		if taken != 0 {
			s.holders.Unlock(id, taken)
		}
		return session.Lease{}, err
	}
	return l, nil
}

// alive returns the lease with the liveness of its holder, which the holder's lock shows.
func (s *Store) alive(id string, r leaseFile) *session.Lease {
	if r.Lease == nil {
		return nil
	}
	l := r.Lease.WithLiveness(s.holders.IsLocked(id, r.Epoch))
	return &l
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	err := s.withLease(ctx, "renew", id, false, func(h *handle) error {
		if h.leaseContent.Lease == nil || h.leaseContent.Epoch != l.Epoch {
			return &session.Error{Op: "renew", Session: id, Err: session.ErrFenced}
		}
		l = l.Stored()
		return h.writeLease(leaseFile{Epoch: l.Epoch, Lease: &l})
	})
	if errors.Is(err, session.ErrNotFound) {
		err = &session.Error{Op: "renew", Session: id, Err: session.ErrFenced, Detail: "the session was deleted"}
	}
	return err
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	defer s.holders.Unlock(id, l.Epoch)
	err := s.withLease(ctx, "release", id, false, func(h *handle) error {
		held := h.leaseContent.Lease
		if held != nil && held.Previous != nil && held.Previous.Epoch == l.Epoch {
			now := *held
			now.Previous = nil
			return h.writeLease(leaseFile{Epoch: h.leaseContent.Epoch, Lease: &now})
		}
		if held == nil || h.leaseContent.Epoch != l.Epoch {
			return nil
		}
		h.saveSummary()
		return h.writeLease(leaseFile{Epoch: l.Epoch})
	})
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// withLease takes the session's locks, reads its lease, and calls fn.
func (s *Store) withLease(ctx context.Context, op, id string, create bool, fn func(*handle) error) error {
	h, err := s.use(op, id)
	if err != nil {
		return err
	}
	defer s.release(h)
	err = h.enter(ctx, false)
	if create && errors.Is(err, fs.ErrNotExist) {
		release, lockErr := s.lockNames(ctx)
		if lockErr != nil {
			return explain(op, id, lockErr)
		}
		defer release()
		if err := s.checkFree(id); err != nil {
			return explain(op, id, err)
		}
		err = h.enter(ctx, true)
	}
	if err != nil {
		return explain(op, id, err)
	}
	defer h.leave()
	if err := h.readLease(); err != nil {
		return explain(op, id, err)
	}
	err = fn(h)
	if busy, ok := errors.AsType[*session.BusyError](err); ok {
		return busy
	}
	return explain(op, id, err)
}

// epochFloor returns the highest epoch of all deleted sessions, so that a new session with a
// reused id does not accept the old session's writer.
func (s *Store) epochFloor() (int64, error) {
	f, err := s.disk.open(s.root, epochName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	floor, err := strconv.ParseInt(strings.TrimSpace(string(b[:n])), 10, 64)
	if err != nil {
		return 0, &session.Error{
			Op: "read lease", Err: session.ErrCorrupt, Detail: f.Name() + " is damaged",
			Hint: "write a number to the file that is greater than the epochs in all lease files",
		}
	}
	return floor, nil
}

// raiseFloor stores the epoch of a session that is about to be deleted. The caller holds the
// names' lock.
func (s *Store) raiseFloor(epoch int64) error {
	floor, err := s.epochFloor()
	if err != nil || epoch <= floor {
		return err
	}
	return s.disk.replace(s.root, epochName, []byte(strconv.FormatInt(epoch, 10)+"\n"), true)
}
