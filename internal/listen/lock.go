package listen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// Lock is the lock of a home: the process that holds it is the daemon of that home.
type Lock struct {
	dir  string
	file *os.File
}

// RunningError reports that another daemon holds the lock.
type RunningError struct {
	Home string
	PID  int // 0 if unknown
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return "a daemon is already running on " + e.Home
	}
	return fmt.Sprintf("a daemon is already running on %s (pid %d)", e.Home, e.PID)
}

// Hint returns what to do.
func (e *RunningError) Hint() string { return "holdfast daemon status, or holdfast daemon stop" }

// OutcomeCode returns the outcome code of the program (docs/reference/exit-codes.md).
func (e *RunningError) OutcomeCode() string { return "busy" }

// A client that checks for a running daemon holds the lock for a short time.
const (
	lockTries = 20
	lockPause = 10 * time.Millisecond
)

// Acquire takes the lock of a home and removes the files of an earlier daemon. It creates the
// folder if necessary; only the owner has access to it. Errors: [*RunningError].
func Acquire(home string) (*Lock, error) {
	dir := Dir(home)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	for try := range lockTries {
		if try > 0 {
			time.Sleep(lockPause)
		}
		l, err := tryAcquire(dir)
		if err != nil {
			return nil, err
		}
		if l != nil {
			l.removeInfo()
			return l, l.writePID()
		}
	}
	return nil, &RunningError{home, holder(dir)}
}

// tryAcquire takes the lock, or returns nil if another process holds it.
func tryAcquire(dir string) (*Lock, error) {
	path := filepath.Join(dir, "daemon.lock")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // truncating would empty the target of a link
		return nil, &Error{path + " exists and is not a regular file", "move it away"}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := diskfile.TryLock(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	if !ok {
		return nil, f.Close()
	}
	return &Lock{dir, f}, nil
}

// writePID writes into the lock file which process holds the lock.
func (l *Lock) writePID() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(dir string) int {
	b, _ := os.ReadFile(filepath.Join(dir, "daemon.lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// Release releases the lock and removes the file that describes this daemon.
func (l *Lock) Release() {
	l.removeInfo()
	_ = l.file.Truncate(0)
	diskfile.Unlock(l.file)
	_ = l.file.Close()
}

// Info is the content of HOME/run/daemon.json.
type Info struct {
	PID       int       `json:"pid"`
	Started   time.Time `json:"started_at"`
	Version   string    `json:"version"`
	Socket    string    `json:"socket"`
	Addresses []string  `json:"addresses"`           // "http://127.0.0.1:7423"
	ExitIdle  string    `json:"exit_idle,omitempty"` // the daemon ends when nothing has used it for this time, such as "30m0s"
}

// WriteInfo writes the file that describes this daemon.
func (l *Lock) WriteInfo(i Info) error {
	if i.Addresses == nil {
		i.Addresses = []string{}
	}
	b, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return diskfile.Write(infoFile(l.dir), append(b, '\n'))
}

func (l *Lock) removeInfo() { _ = os.Remove(infoFile(l.dir)) }

func infoFile(dir string) string { return filepath.Join(dir, "daemon.json") }

// State reports whether a daemon is running on a home. Until the daemon serves, only PID is known.
// If no daemon is running, State removes a left-over description.
func State(home string) (info Info, running bool, err error) {
	dir := Dir(home)
	if _, err := os.Stat(filepath.Join(dir, "daemon.lock")); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(infoFile(dir))
		return Info{}, false, nil
	}
	l, err := tryAcquire(dir)
	if err != nil {
		return Info{}, false, err
	}
	if l != nil {
		l.Release()
		return Info{}, false, nil
	}
	info = Info{PID: holder(dir)}
	b, err := os.ReadFile(infoFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return info, true, nil
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(b))
		err = dec.Decode(&info)
	}
	if err != nil {
		return info, true, fmt.Errorf("%s: %w", infoFile(dir), err)
	}
	return info, true, nil
}
