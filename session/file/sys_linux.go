package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// fdatasync flushes content and length, but not the times.
func fdatasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
