//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// ownGroup makes a server the leader of a session and a group, without a terminal.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signalGroup reaches a server and what it started, also when it has ended itself.
func signalGroup(leader *os.Process, s syscall.Signal) error { return syscall.Kill(-leader.Pid, s) }
