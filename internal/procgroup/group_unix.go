//go:build unix

package procgroup

import (
	"os"
	"syscall"
)

// Own makes a program the leader of a session and a group, without a terminal.
func Own() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signal reaches a program that was started with [Own] and what it started, also when it
// has ended itself.
func Signal(leader *os.Process, s syscall.Signal) error { return syscall.Kill(-leader.Pid, s) }
