package diskfile

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"
)

// LivenessLocks show other processes which lease holders are alive. They use locks of the operating
// system: one byte of a file for each combination of name and number. The system releases them when
// the process ends, for whatever reason. The file stays empty.
//
// On systems without such locks, nothing is locked and nothing is known about other processes.
type LivenessLocks struct {
	open func() (*os.File, error)

	mu     sync.Mutex // guards the fields below
	file   *os.File
	locked map[int64]bool
}

// NewLivenessLocks returns locks in a file. The function open opens that file for reading and
// writing. It is called when a lock is first used.
func NewLivenessLocks(open func() (*os.File, error)) *LivenessLocks {
	return &LivenessLocks{open: open, locked: map[int64]bool{}}
}

// Lock takes the lock that belongs to a name and a number. Only this process may hold the lock.
func (h *LivenessLocks) Lock(name string, n int64) error {
	at := offset(name, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := h.opened()
	if err != nil || h.locked[at] {
		return err
	}
	for tries := 0; ; tries++ {
		ok, err := lockByte(f, at)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil
		case err != nil:
			return err
		case ok:
			h.locked[at] = true
			return nil
		case tries == 100: // a process that failed to start releases it immediately
			return errors.New(f.Name() + ": the lock of a new lease is taken")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Unlock releases a lock. It does nothing if the lock is not held.
func (h *LivenessLocks) Unlock(name string, n int64) {
	at := offset(name, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.locked[at] {
		delete(h.locked, at)
		unlockByte(h.file, at)
	}
}

// IsLocked reports whether a process holds a lock. known is false if the system cannot determine
// it.
func (h *LivenessLocks) IsLocked(name string, n int64) (held, known bool) {
	at := offset(name, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.locked[at] {
		return true, true
	}
	f, err := h.opened()
	if err != nil {
		return false, false
	}
	held, err = byteLocked(f, at)
	return held, err == nil
}

// Close releases all locks. The locks must not be used afterwards.
func (h *LivenessLocks) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		h.file.Close()
		h.file = nil
	}
	clear(h.locked)
	h.open = func() (*os.File, error) { return nil, os.ErrClosed }
}

// opened returns the file. The caller holds mu.
func (h *LivenessLocks) opened() (*os.File, error) {
	if h.file == nil {
		f, err := h.open()
		if err != nil {
			return nil, err
		}
		h.file = f
	}
	return h.file, nil
}

// offset returns the offset of the byte for a name and a number.
func offset(name string, n int64) int64 {
	sum := sha256.Sum256([]byte(name + "\x00" + strconv.FormatInt(n, 10)))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2) // #nosec G115 -- 62 bits
}
