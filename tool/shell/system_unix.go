//go:build unix

package shell

import (
	"os"
	"syscall"
)

// canFollow: a shell can be given a descriptor on which to report where it is.
const canFollow = true

// polite are the signals that ask a command to end, also one that is stopped.
var polite = []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}

// ownGroup makes a command the leader of a session and a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signalGroup reaches a command and what it started, also when it has ended itself.
func signalGroup(leader *os.Process, s syscall.Signal) error { return syscall.Kill(-leader.Pid, s) }

// readNow takes what a pipe holds.
func readNow(fd uintptr, buf []byte) (int, error) { return syscall.Read(int(fd), buf) }
