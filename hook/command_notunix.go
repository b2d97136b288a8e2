//go:build !unix

package hook

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// signalGroup kills the command itself; what it started lives on.
func signalGroup(leader *os.Process, s syscall.Signal) error {
	if s != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}
