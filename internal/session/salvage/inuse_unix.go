//go:build unix

package salvage

import (
	"os"

	"golang.org/x/sys/unix"
)

// SQLite locks these bytes of a database; every process that has it open in WAL mode has a shared
// lock.
const (
	lockStart = 0x40000000
	lockSize  = 512
)

// inUse reports whether another process has the database open.
func inUse(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: lockStart, Len: lockSize}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}
