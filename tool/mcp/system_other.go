//go:build !unix

package mcp

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// signalGroup kills the server itself; what it started lives on.
func signalGroup(leader *os.Process, s syscall.Signal) error {
	if s != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}
