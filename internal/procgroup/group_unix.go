//go:build unix

package procgroup

import (
	"os"
	"syscall"
)

// NewGroup makes a program the leader of a session and a group, without a terminal.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signal reaches a program that was started with [NewGroup] and what it started, also when it
// has ended itself.
func Signal(leader *os.Process, s syscall.Signal) error { return syscall.Kill(-leader.Pid, s) }
