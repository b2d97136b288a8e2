//go:build !unix

package procgroup

import (
	"errors"
	"os"
	"syscall"
)

// NewGroup changes nothing: this system has no process groups.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// Signal kills only the program itself; its child processes continue. It identifies the process by its
// handle, so it never kills another process with a reused id.
func Signal(leader *os.Process, s syscall.Signal) error {
	if s != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}
