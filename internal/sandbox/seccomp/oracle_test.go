//go:build linux && (amd64 || arm64)

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// oracle returns the expected answer to a call: the same decisions as the filter's, written down
// independently and as plainly as possible.
func oracle(o Options, of, nr uint32, args [6]uint64) uint32 {
	const (
		ok    = uint32(unix.SECCOMP_RET_ALLOW)
		no    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		lacks = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		busy  = unix.SECCOMP_RET_ERRNO | uint32(unix.EBUSY)
	)
	notified := func(quietly uint32) uint32 {
		if o.Notify {
			return unix.SECCOMP_RET_USER_NOTIF
		}
		return quietly
	}
	if of != arch {
		return notified(lacks)
	}
	known := nr <= unix.SYS_RSEQ_SLICE_YIELD && oracleKnown(nr)
	if !known || slices.Contains(oracleAbsent, nr) || slices.Contains(archAbsent, nr) {
		return lacks
	}
	if slices.Contains(oracleNever, nr) || slices.Contains(archNever, nr) {
		return notified(no)
	}
	if slices.Contains(oracleQuiet, nr) || slices.Contains(archQuiet, nr) {
		return no
	}
	a := func(i int) int { return int(int32(args[i])) } // as the kernel reads it
	refuseIf := func(bad bool) uint32 {
		if bad {
			return notified(no)
		}
		return ok
	}
	writes := ok // allowed, and reported if requested
	if o.Notify && o.Writes {
		writes = unix.SECCOMP_RET_USER_NOTIF
	}
	const setid = 0o6000
	const namespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
	shape, mode, flags := oracleShape(nr)
	switch shape {
	case "chmod":
		return refuseIf(a(mode)&setid != 0)
	case "open":
		switch creates := a(flags)&(unix.O_CREAT|0o20000000) != 0; {
		case creates && a(mode)&setid != 0:
			return notified(no)
		case creates || a(flags)&0o1003 != 0:
			return writes
		}
	case "creat":
		if a(mode)&setid == 0 {
			return writes
		}
		return notified(no)
	case "mkdir":
		return writes
	case "mknod":
		return refuseIf(a(mode)&setid != 0 || a(mode)&0o170000 == 0o020000 || a(mode)&0o170000 == 0o060000)
	}
	switch nr {
	case unix.SYS_CLONE3:
		if o.Nested && !o.KeepProcessGroup {
			return ok
		}
		return lacks
	case unix.SYS_CLONE:
		return refuseIf(!o.Nested && a(0)&namespaces != 0 || o.KeepProcessGroup && a(0)&unix.CLONE_PARENT != 0)
	case unix.SYS_UNSHARE:
		harmless := uint64(unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM | unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD)
		return refuseIf(!o.Nested && args[0]&^harmless != 0)
	case unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETNS:
		return refuseIf(!o.Nested)
	case unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR:
		if o.Nested {
			return lacks
		}
		return notified(no)
	case unix.SYS_IOCTL:
		return refuseIf(a(1) == 0x5412 || a(1) == 0x541c)
	case unix.SYS_PERSONALITY:
		return refuseIf(a(0) != 0 && a(0) != -1 && a(0) != 0x40000)
	case unix.SYS_PRCTL:
		if a(0) == 35 {
			return no
		}
	case unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES:
		if a(0) != 0 {
			return no
		}
	case unix.SYS_SECCOMP:
		if o.Notify && a(1)&8 != 0 {
			return busy
		}
	case unix.SYS_SENDTO, unix.SYS_SENDMMSG:
		return refuseIf(o.Inet && o.TCPOnly && a(3)&0x20000000 != 0)
	case unix.SYS_SENDMSG:
		return refuseIf(o.Inet && o.TCPOnly && a(2)&0x20000000 != 0)
	case unix.SYS_SETSID, unix.SYS_SETPGID,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK:
		return refuseIf(o.KeepProcessGroup)
	case unix.SYS_PRLIMIT64:
		return refuseIf(o.KeepProcessGroup && a(0) != 0 && args[2] != 0)
	case unix.SYS_SOCKETPAIR:
		kind := a(1) & 15
		return refuseIf(a(0) != 1 || !o.Unix && kind != 1 && kind != 5)
	case unix.SYS_SOCKET:
		return oracleSocket(o, a(0), a(1)&15, a(2), ok, no, notified(no))
	}
	return ok
}

func oracleSocket(o Options, family, kind, protocol int, ok, quiet, notified uint32) uint32 {
	switch {
	case family == 1 && o.Unix:
		return ok
	case family == 16 && protocol == 0:
		return ok
	case family == 16:
		return quiet
	case family != 2 && family != 10 || !o.Inet:
		return notified
	case kind == 1 && (protocol == 0 || protocol == 6):
		return ok
	case kind == 1 && protocol == 262 && o.TCPOnly:
		return quiet
	case kind == 1 && protocol == 262:
		return ok
	case kind == 2 && !o.TCPOnly && slices.Contains([]int{0, 17, 1, 58}, protocol):
		return ok
	}
	return notified
}

// oracleShape returns which arguments of a call are a mode and flags.
func oracleShape(nr uint32) (shape string, mode, flags int) {
	switch nr {
	case unix.SYS_FCHMOD:
		return "chmod", 1, 0
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return "chmod", 2, 0
	case unix.SYS_OPENAT:
		return "open", 3, 2
	case unix.SYS_MKNODAT:
		return "mknod", 2, 0
	case unix.SYS_MKDIRAT:
		return "mkdir", 0, 0
	}
	return archShape(nr)
}

var (
	oracleNever = []uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	}
	oracleQuiet = []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_USERFAULTFD, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_LOOKUP_DCOOKIE,
	}
	oracleAbsent = []uint32{
		unix.SYS_OPENAT2, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS, unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_NFSSERVCTL,
	}
)
