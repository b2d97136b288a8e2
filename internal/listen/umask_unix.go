//go:build unix

package listen

import "syscall"

// private does something while new files are for their owner only. The mask is the
// whole process's: it is called before anything else runs.
func private(do func() error) error {
	defer syscall.Umask(syscall.Umask(0o177))
	return do()
}
