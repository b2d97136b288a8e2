//go:build linux && (amd64 || arm64)

package seccomp

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// callNames are the names of the reported calls on both processors.
var callNames = map[uint32]string{
	unix.SYS_PTRACE: "ptrace", unix.SYS_PROCESS_VM_READV: "process_vm_readv", unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev",
	unix.SYS_PIDFD_GETFD: "pidfd_getfd", unix.SYS_PRLIMIT64: "prlimit64", unix.SYS_SETSID: "setsid", unix.SYS_SETPGID: "setpgid",
	unix.SYS_KEYCTL: "keyctl", unix.SYS_ADD_KEY: "add_key", unix.SYS_REQUEST_KEY: "request_key",
	unix.SYS_BPF: "bpf", unix.SYS_PERF_EVENT_OPEN: "perf_event_open",
	unix.SYS_OPEN_BY_HANDLE_AT: "open_by_handle_at", unix.SYS_FANOTIFY_INIT: "fanotify_init", unix.SYS_FANOTIFY_MARK: "fanotify_mark",
	unix.SYS_KEXEC_LOAD: "kexec_load", unix.SYS_KEXEC_FILE_LOAD: "kexec_file_load",
	unix.SYS_INIT_MODULE: "init_module", unix.SYS_FINIT_MODULE: "finit_module", unix.SYS_DELETE_MODULE: "delete_module",
	unix.SYS_REBOOT: "reboot", unix.SYS_SWAPON: "swapon", unix.SYS_SWAPOFF: "swapoff", unix.SYS_ACCT: "acct",
	unix.SYS_QUOTACTL: "quotactl", unix.SYS_QUOTACTL_FD: "quotactl_fd",
	unix.SYS_SETTIMEOFDAY: "settimeofday", unix.SYS_CLOCK_SETTIME: "clock_settime",
	unix.SYS_CLOCK_ADJTIME: "clock_adjtime", unix.SYS_ADJTIMEX: "adjtimex",
	unix.SYS_SYSLOG: "syslog", unix.SYS_VHANGUP: "vhangup", unix.SYS_PERSONALITY: "personality",
	unix.SYS_MOUNT: "mount", unix.SYS_UMOUNT2: "umount2", unix.SYS_PIVOT_ROOT: "pivot_root", unix.SYS_CHROOT: "chroot",
	unix.SYS_SETHOSTNAME: "sethostname", unix.SYS_SETDOMAINNAME: "setdomainname",
	unix.SYS_SETNS: "setns", unix.SYS_UNSHARE: "unshare", unix.SYS_CLONE: "clone",
	unix.SYS_OPEN_TREE: "open_tree", unix.SYS_OPEN_TREE_ATTR: "open_tree_attr", unix.SYS_MOVE_MOUNT: "move_mount",
	unix.SYS_FSOPEN: "fsopen", unix.SYS_FSCONFIG: "fsconfig", unix.SYS_FSMOUNT: "fsmount", unix.SYS_FSPICK: "fspick",
	unix.SYS_MOUNT_SETATTR: "mount_setattr",
	unix.SYS_FCHMOD:        "fchmod", unix.SYS_FCHMODAT: "fchmodat", unix.SYS_FCHMODAT2: "fchmodat2",
	unix.SYS_OPENAT: "openat", unix.SYS_MKNODAT: "mknodat", unix.SYS_IOCTL: "ioctl",
	unix.SYS_SOCKET: "socket", unix.SYS_SOCKETPAIR: "socketpair",
	unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDMMSG: "sendmmsg",
	unix.SYS_SHMGET: "shmget", unix.SYS_SHMAT: "shmat", unix.SYS_SHMCTL: "shmctl",
	unix.SYS_SEMGET: "semget", unix.SYS_SEMOP: "semop", unix.SYS_SEMTIMEDOP: "semtimedop", unix.SYS_SEMCTL: "semctl",
	unix.SYS_MSGGET: "msgget", unix.SYS_MSGSND: "msgsnd", unix.SYS_MSGRCV: "msgrcv", unix.SYS_MSGCTL: "msgctl",
	unix.SYS_MQ_OPEN: "mq_open", unix.SYS_MQ_UNLINK: "mq_unlink",
}

// bitNames maps values to names, or bits to names in the order in which they are written.
type bitNames []struct {
	value uint32
	name  string
}

var namespaceNames = bitNames{
	{unix.CLONE_NEWUSER, "CLONE_NEWUSER"},
	{unix.CLONE_NEWNS, "CLONE_NEWNS"},
	{unix.CLONE_NEWPID, "CLONE_NEWPID"},
	{unix.CLONE_NEWNET, "CLONE_NEWNET"},
	{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
	{unix.CLONE_NEWUTS, "CLONE_NEWUTS"},
	{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"},
	{unix.CLONE_PARENT, "CLONE_PARENT"},
}

var ioctlNames = bitNames{{unix.TIOCSTI, "TIOCSTI"}, {unix.TIOCLINUX, "TIOCLINUX"}}

var ownerNames = bitNames{{unix.S_ISUID, "S_ISUID"}, {unix.S_ISGID, "S_ISGID"}}

var deviceNames = bitNames{{unix.S_IFCHR, "S_IFCHR"}, {unix.S_IFBLK, "S_IFBLK"}}

var familyNames = bitNames{
	{unix.AF_UNIX, "AF_UNIX"},
	{unix.AF_INET, "AF_INET"},
	{unix.AF_INET6, "AF_INET6"},
	{unix.AF_NETLINK, "AF_NETLINK"},
	{unix.AF_PACKET, "AF_PACKET"},
	{unix.AF_ALG, "AF_ALG"},
	{unix.AF_VSOCK, "AF_VSOCK"},
	{unix.AF_KEY, "AF_KEY"},
	{unix.AF_BLUETOOTH, "AF_BLUETOOTH"},
	{unix.AF_CAN, "AF_CAN"},
	{unix.AF_TIPC, "AF_TIPC"},
	{unix.AF_RDS, "AF_RDS"},
	{unix.AF_SMC, "AF_SMC"},
	{unix.AF_XDP, "AF_XDP"},
}

var kindNames = bitNames{
	{unix.SOCK_STREAM, "SOCK_STREAM"},
	{unix.SOCK_DGRAM, "SOCK_DGRAM"},
	{unix.SOCK_RAW, "SOCK_RAW"},
	{unix.SOCK_SEQPACKET, "SOCK_SEQPACKET"},
	{unix.SOCK_PACKET, "SOCK_PACKET"},
}

// nameOf names a value; a value without a name is written as a number.
func (n bitNames) nameOf(value uint32) string {
	for _, b := range n {
		if b.value == value {
			return b.name
		}
	}
	return fmt.Sprint(value)
}

// namesOf names the bits that are set.
func (n bitNames) namesOf(value uint32) string {
	var set []string
	for _, b := range n {
		if value&b.value != 0 {
			set = append(set, b.name)
		}
	}
	return strings.Join(set, "|")
}

// name returns the name of a call for reports, with the argument for which it was refused.
func (c *call) name() string {
	if c.arch != arch {
		return "32-bit call"
	}
	name, ok := callNames[c.number]
	if !ok {
		name, ok = archNames[c.number]
	}
	if !ok {
		return fmt.Sprintf("call %d", c.number)
	}
	if why := c.decisiveArg(); why != "" {
		return name + "(" + why + ")"
	}
	return name
}

// decisiveArg returns the argument because of which a call was refused, or "" if it was refused
// regardless of its arguments.
func (c *call) decisiveArg() string {
	switch c.number {
	case unix.SYS_SOCKET:
		return c.socket()
	case unix.SYS_SOCKETPAIR:
		if c.arg(0) != unix.AF_UNIX {
			return familyNames.nameOf(c.arg(0))
		}
		return "AF_UNIX, " + kindNames.nameOf(c.arg(1)&kindMask)
	case unix.SYS_IOCTL:
		return ioctlNames.nameOf(c.arg(1))
	case unix.SYS_CLONE, unix.SYS_UNSHARE:
		return namespaceNames.namesOf(c.arg(0))
	case unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG:
		return "MSG_FASTOPEN"
	case unix.SYS_MKNODAT:
		return c.node(2)
	case unix.SYS_OPENAT:
		return ownerNames.namesOf(c.arg(3))
	case unix.SYS_FCHMOD:
		return ownerNames.namesOf(c.arg(1))
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return ownerNames.namesOf(c.arg(2))
	}
	return c.archDecisiveArg()
}

// socket returns the address family and, for internet sockets, everything that is not plain TCP.
func (c *call) socket() string {
	family, kind, protocol := c.arg(0), c.arg(1)&kindMask, c.arg(2)
	name := familyNames.nameOf(family)
	switch {
	case family != unix.AF_INET && family != unix.AF_INET6:
	case kind != unix.SOCK_STREAM:
		name += ", " + kindNames.nameOf(kind)
	case protocol != 0 && protocol != unix.IPPROTO_TCP:
		name += fmt.Sprintf(", SOCK_STREAM, %d", protocol)
	}
	return name
}

// node returns the kind of device, or the set-user-ID and set-group-ID bits.
func (c *call) node(mode int) string {
	if bits := ownerNames.namesOf(c.arg(mode)); bits != "" {
		return bits
	}
	return deviceNames.nameOf(c.arg(mode) & unix.S_IFMT)
}
