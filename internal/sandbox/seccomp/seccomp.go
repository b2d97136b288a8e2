package seccomp

import "errors"

// Options select what a filter allows beyond the minimum.
type Options struct {
	Inet    bool // IPv4 and IPv6 sockets: streams and datagrams, never raw sockets
	TCPOnly bool // restricts Inet to streams without MPTCP, and forbids connections that are created by sending
	Unix    bool // unix sockets; a socketpair of streams or packets is always allowed
	Nested  bool // the command may create namespaces

	// KeepProcessGroup is for commands without namespaces. No process may leave the process group
	// or the session, because all processes of the command are found through these. No process may
	// reach other processes of the user through System V IPC, message queues and limits.
	KeepProcessGroup bool
	Notify           bool // report each refusal to a [Watcher]
	Writes           bool // extends Notify: also report each file before it is opened for writing, and each folder before it is created
}

// Instruction is one instruction of classic BPF in the kernel's format (struct sock_filter).
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// ErrArch means that there are no tables for this processor.
var ErrArch = errors.New("no system call table for this processor")

// Refusal is a refused system call, with the number of attempts.
type Refusal struct {
	Call  string `json:"call"` // "ptrace", "socket(AF_UNIX)", "ioctl(TIOCSTI)"
	Count int    `json:"count"`
}
