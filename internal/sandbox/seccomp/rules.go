//go:build linux && (amd64 || arm64)

package seccomp

import (
	"maps"

	"golang.org/x/sys/unix"
)

// newNamespaces are the flags of clone that create namespaces. CLONE_NEWTIME is not included: for clone, its
// bit is part of the signal number.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// unsharable are the flags of unshare that create no namespace.
const unsharable = unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM | unix.CLONE_VM |
	unix.CLONE_SIGHAND | unix.CLONE_THREAD

// ownerBits make a program run as the owner or group of its file.
const ownerBits = unix.S_ISUID | unix.S_ISGID

// alwaysDenied lists the calls that no option allows.
var alwaysDenied = map[*decision][]uint32{
	refuse: {
		// access to other processes
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		// keys, which belong to the user and not to the sandbox
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// programs in the kernel, and measurements of other processes
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		// access to files other than by name
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		// changes to the machine
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	},
	hideCall: {
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // tried by libuv
		unix.SYS_USERFAULTFD,     // tried by virtual machines
		unix.SYS_PROCESS_MADVISE, // tried by allocators
		unix.SYS_KCMP,            // tried by graphics drivers
		unix.SYS_LOOKUP_DCOOKIE,
	},
	returnNoSys: {
		unix.SYS_OPENAT2, // its flags and mode are behind a pointer; callers can use openat instead
		unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
		unix.SYS_LSM_SET_SELF_ATTR,
		unix.SYS_NFSSERVCTL,
	},
}

// mounting are the calls that use namespaces. A command with its own namespaces may make them: the kernel
// limits it to its own resources.
var (
	mounting = []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETNS,
	}
	// newMounting are calls that are never needed: without them, programs use mount.
	newMounting = []uint32{
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	}
)

// sharedIPC are the calls that reach other processes of the user without an IPC namespace.
var sharedIPC = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// rules returns the decisions about all calls that are not simply allowed.
func rules(o *Options) map[uint32]*decision {
	m := map[uint32]*decision{}
	set := func(d *decision, numbers ...uint32) {
		for _, nr := range numbers {
			m[nr] = d
		}
	}
	for d, numbers := range alwaysDenied {
		set(d, numbers...)
	}
	namespaceRules(o, set)
	fileRules(set)
	socketRules(o, set)
	processRules(o, set)
	archRules(set)
	if o.Writes {
		maps.Copy(m, writeRules)
	}
	return m
}

type setter func(d *decision, numbers ...uint32)

func namespaceRules(o *Options, set setter) {
	if o.Nested {
		set(returnNoSys, newMounting...)
		if o.KeepProcessGroup { // clone3 could make the new process a child of this process's parent
			set(returnNoSys, unix.SYS_CLONE3)
		}
	} else {
		set(refuse, mounting...)
		set(refuse, newMounting...)
		set(returnNoSys, unix.SYS_CLONE3) // its flags are behind a pointer; callers can use clone instead
		set(anyOf(low(0), ^uint32(unsharable), refuse, equal(high(0), allow, refuse, 0)), unix.SYS_UNSHARE)
	}
	var flags uint32
	if !o.Nested {
		flags |= newNamespaces
	}
	if o.KeepProcessGroup {
		flags |= unix.CLONE_PARENT
	}
	if flags != 0 {
		set(anyOf(low(0), flags, refuse, allow), unix.SYS_CLONE)
	}
}

// creating are the flags with which open creates a file. Only then does the kernel use the mode.
const creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

func fileRules(set setter) {
	set(chmodAt(1), unix.SYS_FCHMOD)
	set(chmodAt(2), unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2)
	set(openAt(2, allow), unix.SYS_OPENAT)
	set(mknodAt(2), unix.SYS_MKNODAT)
	set(equal(low(1), refuse, allow, unix.TIOCSTI, unix.TIOCLINUX), unix.SYS_IOCTL)
}

// chmodAt checks a mode.
func chmodAt(arg int) *decision { return anyOf(low(arg), ownerBits, refuse, allow) }

// writing are the flags with which open creates or changes a file.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// openAt checks the flags and the mode in the argument after them. If the flags open the file for
// writing, the decision is write.
func openAt(arg int, write *decision) *decision {
	otherwise := allow
	if write != allow {
		otherwise = anyOf(low(arg), writing, write, allow)
	}
	return anyOf(low(arg), creating, anyOf(low(arg+1), ownerBits, refuse, write), otherwise)
}

// writeRules are the rules of [Options].Writes; they replace the other rules for these calls.
var writeRules = func() map[uint32]*decision {
	m := map[uint32]*decision{unix.SYS_OPENAT: openAt(2, notifyWrite), unix.SYS_MKDIRAT: notifyWrite}
	maps.Copy(m, archWriteRules)
	return m
}()

// mknodAt checks a mode that contains a file type: devices are refused.
func mknodAt(arg int) *decision {
	const device = unix.S_IFCHR          // a block device has one additional bit
	const bits = unix.S_IFMT &^ 0o040000 // without the additional bit of block devices
	return masked(low(arg), bits, device, refuse, chmodAt(arg))
}

func processRules(o *Options, set setter) {
	const randomize = 0x0040000 // ADDR_NO_RANDOMIZE
	set(equal(low(0), allow, refuse, 0, whole, randomize), unix.SYS_PERSONALITY)
	set(equal(low(0), hideCall, allow, unix.PR_SET_MM), unix.SYS_PRCTL)
	set(equal(low(0), allow, hideCall, 0), unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES)
	if o.Notify {
		// The kernel uses the newest filter first, so a second listener could allow a call that
		// this one would refuse.
		set(anyOf(low(1), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, returnBusy, allow), unix.SYS_SECCOMP)
	}
	if o.KeepProcessGroup {
		set(refuse, unix.SYS_SETSID, unix.SYS_SETPGID)
		set(refuse, sharedIPC...)
		set(equal(low(0), allow, zero(2, allow, refuse), 0), unix.SYS_PRLIMIT64)
	}
}
