//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// known are the call numbers that were reviewed, as ranges from the first to the last. Any other number is
// newer than this table or belongs to the x32 interface, whose numbers are all higher.
var known = [][2]uint32{
	{unix.SYS_READ, unix.SYS_UPROBE},
	{unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RSEQ_SLICE_YIELD},
}

// archRules decide about the calls that only this processor has.
func archRules(set setter) {
	set(chmodAt(1), unix.SYS_CHMOD, unix.SYS_CREAT)
	set(openAt(1, allow), unix.SYS_OPEN)
	set(mknodAt(1), unix.SYS_MKNOD)
	set(refuse, unix.SYS_IOPL, unix.SYS_IOPERM)
	set(hideCall, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS)
	set(returnNoSys, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
		unix.SYS_GETPMSG, unix.SYS_PUTPMSG, unix.SYS_AFS_SYSCALL, unix.SYS_TUXCALL, unix.SYS_SECURITY,
		unix.SYS_VSERVER, unix.SYS_EPOLL_CTL_OLD, unix.SYS_EPOLL_WAIT_OLD)
}

// archWriteRules are the rules of [Options].Writes for the calls that only this processor has.
var archWriteRules = map[uint32]*decision{
	unix.SYS_OPEN: openAt(1, notifyWrite), unix.SYS_CREAT: anyOf(low(1), ownerBits, refuse, notifyWrite), unix.SYS_MKDIR: notifyWrite,
}

// archNames are the names of the reported calls that only this processor has.
var archNames = map[uint32]string{
	unix.SYS_CHMOD: "chmod",
	unix.SYS_CREAT: "creat",
	unix.SYS_OPEN:  "open",
	unix.SYS_MKNOD: "mknod",
	unix.SYS_IOPL:  "iopl", unix.SYS_IOPERM: "ioperm",
}

// archDecisiveArg is decisive for the calls that only this processor has.
func (c *call) archDecisiveArg() string {
	switch c.number {
	case unix.SYS_MKNOD:
		return c.node(1)
	case unix.SYS_OPEN:
		return ownerNames.namesOf(c.arg(2))
	case unix.SYS_CHMOD, unix.SYS_CREAT:
		return ownerNames.namesOf(c.arg(1))
	}
	return ""
}
