package audit

import (
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

// lockWait is how long a program waits for a lock. The lock is held for microseconds, or for some
// milliseconds while a checkpoint is signed.
const lockWait = 10 * time.Second

// lockFile locks a file against other processes. The caller makes sure that only one of its
// goroutines calls it at a time.
func lockFile(f *os.File) (func(), error) {
	until := time.Time{}
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		ok, err := diskfile.TryLock(f)
		if ok {
			return func() { diskfile.Unlock(f) }, nil
		}
		if err == nil && until.IsZero() {
			until = time.Now().Add(lockWait)
		}
		if err == nil && time.Now().After(until) {
			err = session.ErrBusy
		}
		if err != nil {
			return nil, &session.Error{
				Op: "lock trail", Err: err, Detail: f.Name(), Hint: "end the program that holds the lock: fuser " + f.Name(),
			}
		}
		time.Sleep(pause) // the kernel does not offer a lock with a timeout
	}
}

// hostName returns this machine's name in a form valid for a key.
func hostName() string {
	name, err := os.Hostname()
	if err == nil {
		name = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || unicode.IsControl(r) || r == '+' || r == unicode.ReplacementChar {
				return '-'
			}
			return r
		}, name)
	}
	if err != nil || checkName(name) != nil {
		return "holdfast"
	}
	return name
}
