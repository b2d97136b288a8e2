package seccomp

import "errors"

// Options say what a filter opens beyond the minimum.
type Options struct {
	Inet    bool // sockets of IPv4 and IPv6: streams and datagrams, never raw ones
	TCPOnly bool // with Inet: streams only, no MPTCP, and no connection that is made by sending
	Unix    bool // unix sockets; a socketpair of streams or packets is always possible
	Nested  bool // namespaces of the command's own

	// KeepProcessGroup is for where there are no namespaces: no process may leave its process
	// group or session, by which all are found, nor reach others of the same user
	// through System V IPC, message queues and limits.
	KeepProcessGroup bool
	Notify           bool // tell a [Watcher] about each refusal
	Writes           bool // with Notify: tell it also what is opened for writing or made as a folder, before it is
}

// Instruction is one instruction of classic BPF, as the kernel reads it
// (struct sock_filter).
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// ErrArch says that there are no tables for this processor.
var ErrArch = errors.New("no system call table for this processor")

// Refusal is a system call that was refused, with how often.
type Refusal struct {
	Call  string `json:"call"` // "ptrace", "socket(AF_UNIX)", "ioctl(TIOCSTI)"
	Count int    `json:"count"`
}
