//go:build unix

package procgroup

import (
	"os"
	"syscall"
)

// NewGroup makes a program the leader of a new session and process group, without a terminal.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signal sends a signal to a program that was started with [NewGroup] and to its child processes, even if the
// program itself has ended.
func Signal(leader *os.Process, s syscall.Signal) error { return syscall.Kill(-leader.Pid, s) }
