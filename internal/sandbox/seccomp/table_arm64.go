//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// known are the call numbers that were reviewed, as ranges from the first to the last. Any other number is
// newer than this table or never belonged to this processor.
var known = [][2]uint32{
	{unix.SYS_IO_SETUP, unix.SYS_RECVMMSG},
	{unix.SYS_WAIT4, unix.SYS_KEXEC_FILE_LOAD},
	{unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RSEQ_SLICE_YIELD},
}

// archRules does nothing: no call that only this processor has needs a decision.
func archRules(setter) {}

var archWriteRules map[uint32]*decision

var archNames map[uint32]string

func (c *call) archDecisiveArg() string { return "" }
