//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// known are the calls that were looked at, in runs from the first to the last.
// Any other is newer than this table, or was never one of this processor.
var known = [][2]uint32{
	{unix.SYS_IO_SETUP, unix.SYS_RECVMMSG},
	{unix.SYS_WAIT4, unix.SYS_KEXEC_FILE_LOAD},
	{unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RSEQ_SLICE_YIELD},
}

// archRules: this processor has no calls of its own that need a decision.
func archRules(setter) {}

var archWrites map[uint32]*decision

var archNames map[uint32]string

func (c *call) archDecisive() string { return "" }
