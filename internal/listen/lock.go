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

// Lock is the right to be the daemon of a home.
type Lock struct {
	dir  string
	file *os.File
}

// RunningError says that another daemon has the lock.
type RunningError struct {
	Home string
	PID  int // 0: it did not say
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return "a daemon is already running on " + e.Home
	}
	return fmt.Sprintf("a daemon is already running on %s (pid %d)", e.Home, e.PID)
}

// Hint says what to do.
func (e *RunningError) Hint() string { return "holdfast daemon status, or holdfast daemon stop" }

// OutcomeCode is the code of the outcome that a program ends with (docs/reference/exit-codes.md).
func (e *RunningError) OutcomeCode() string { return "busy" }

// A client that looks whether a daemon runs holds the lock for a moment.
const (
	lockTries = 20
	takePause = 10 * time.Millisecond
)

// Acquire takes the lock of a home, and removes what an earlier daemon left. The folder is
// made when it is missing, and closed to others. Errors: [*RunningError].
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
			time.Sleep(takePause)
		}
		l, err := try1(dir)
		if err != nil {
			return nil, err
		}
		if l != nil {
			l.removeInfo()
			return l, l.writeInfo()
		}
	}
	return nil, &RunningError{home, holder(dir)}
}

// try1 takes the lock, or returns nil when another has it.
func try1(dir string) (*Lock, error) {
	path := filepath.Join(dir, "daemon.lock")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // a link would have its target emptied
		return nil, &Error{path + " is there and is no file", "move it away"}
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

// writeInfo writes who has the lock into it.
func (l *Lock) writeInfo() error {
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

// Release gives the lock back, and removes the file about this daemon.
func (l *Lock) Release() {
	l.removeInfo()
	_ = l.file.Truncate(0)
	diskfile.Unlock(l.file)
	_ = l.file.Close()
}

// Info is what a daemon tells about itself in HOME/run/daemon.json.
type Info struct {
	PID       int       `json:"pid"`
	Started   time.Time `json:"started_at"`
	Version   string    `json:"version"`
	Socket    string    `json:"socket"`
	Addresses []string  `json:"addresses"` // "http://127.0.0.1:7423"
}

// Write tells about this daemon.
func (l *Lock) Write(i Info) error {
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

// State tells whether a daemon runs on a home. It has said what it is once it serves:
// before that only PID is known. When none runs, a file that says so is removed.
func State(home string) (info Info, running bool, err error) {
	dir := Dir(home)
	if _, err := os.Stat(filepath.Join(dir, "daemon.lock")); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(infoFile(dir))
		return Info{}, false, nil
	}
	l, err := try1(dir)
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
