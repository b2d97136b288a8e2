//go:build !unix

package procgroup

import (
	"errors"
	"os"
	"syscall"
)

// NewGroup changes nothing: there are no groups here.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// Signal kills the program itself; what it started lives on. The process is known by its
// handle, so that an ended one is never taken for another.
func Signal(leader *os.Process, s syscall.Signal) error {
	if s != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}
