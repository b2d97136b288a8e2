//go:build linux && (amd64 || arm64)

package seccomp

import (
	"maps"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// realCall is a system call that the test makes.
type realCall struct {
	name string
	attempt
	options Options
	want    syscall.Errno // open: the kernel's answer without a filter
}

// open marks an answer of an allowed call.
const open = syscall.Errno(0xffff)

const (
	junk  = 0xdead_0000_0000 // a value that a program may put where the kernel does not read
	wrong = ^uint64(0)       // neither a valid pointer nor a descriptor
)

func at(nr uint32, args ...uint64) attempt {
	a := attempt{Number: nr}
	copy(a.Args[:], args)
	return a
}

var (
	none      = Options{}
	nested    = Options{Nested: true}
	inetAll   = Options{Inet: true}
	tcp       = Options{Inet: true, TCPOnly: true}
	unixToo   = Options{Unix: true}
	keepGroup = Options{KeepProcessGroup: true}
)

var realCalls = append([]realCall{
	{"ptrace", peek, none, unix.EPERM},
	{"clone of a namespace", at(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS), none, unix.EPERM},
	{"clone with junk", at(unix.SYS_CLONE, junk|unix.CLONE_NEWUSER|unix.CLONE_FS), none, unix.EPERM},
	{"clone of a namespace, nested", at(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS), nested, open},
	{"clone without", at(unix.SYS_CLONE, unix.CLONE_SIGHAND), none, open},
	{"clone3", at(unix.SYS_CLONE3, wrong, 88), none, unix.ENOSYS},
	{"clone3, nested", at(unix.SYS_CLONE3, wrong, 88), nested, open},
	{"unshare", at(unix.SYS_UNSHARE, unix.CLONE_NEWNS), none, unix.EPERM},
	{"unshare of time", at(unix.SYS_UNSHARE, unix.CLONE_NEWTIME), none, unix.EPERM},
	{"unshare of files", at(unix.SYS_UNSHARE, unix.CLONE_FILES), none, open},
	{"unshare, nested", at(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), nested, open},
	{"setns", at(unix.SYS_SETNS, wrong), none, unix.EPERM},
	{"setns, nested", at(unix.SYS_SETNS, wrong), nested, open},
	{"chroot, nested", at(unix.SYS_CHROOT, wrong), nested, open},
	{"mount, nested", at(unix.SYS_MOUNT, wrong, wrong, wrong), nested, open},
	{"fsopen, nested", at(unix.SYS_FSOPEN, wrong), nested, unix.ENOSYS},
	{"openat2", at(unix.SYS_OPENAT2, wrong, wrong, wrong, 24), none, unix.ENOSYS},

	{"fchmod u+s", at(unix.SYS_FCHMOD, wrong, 0o4755), none, unix.EPERM},
	{"fchmod g+s with junk", at(unix.SYS_FCHMOD, wrong, junk|0o2755), none, unix.EPERM},
	{"fchmod", at(unix.SYS_FCHMOD, wrong, junk|0o1755), none, open},
	{"fchmodat u+s", at(unix.SYS_FCHMODAT, wrong, wrong, 0o4755), none, unix.EPERM},
	{"fchmodat2 u+s", at(unix.SYS_FCHMODAT2, wrong, wrong, 0o4755), none, unix.EPERM},
	{"openat of a setuid file", at(unix.SYS_OPENAT, wrong, wrong, unix.O_CREAT|unix.O_WRONLY, 0o4755), none, unix.EPERM},
	{"openat of a nameless setuid file", at(unix.SYS_OPENAT, wrong, wrong, unix.O_TMPFILE|unix.O_WRONLY, 0o4755), none, unix.EPERM},
	{"openat with junk", at(unix.SYS_OPENAT, wrong, wrong, junk|unix.O_CREAT, junk|0o4755), none, unix.EPERM},
	{"openat, which needs no mode", at(unix.SYS_OPENAT, wrong, wrong, unix.O_RDONLY, 0o4755), none, open},
	{"openat", at(unix.SYS_OPENAT, wrong, wrong, unix.O_CREAT, 0o644), none, open},
	{"mknodat of a device", at(unix.SYS_MKNODAT, wrong, wrong, unix.S_IFCHR|0o600, 0x103), none, unix.EPERM},
	{"mknodat of a disk with junk", at(unix.SYS_MKNODAT, wrong, wrong, junk|unix.S_IFBLK|0o600, 0x800), none, unix.EPERM},
	{"mknodat of a setuid file", at(unix.SYS_MKNODAT, wrong, wrong, unix.S_IFREG|0o4755), none, unix.EPERM},
	{"mknodat of a pipe", at(unix.SYS_MKNODAT, wrong, wrong, unix.S_IFIFO|0o600), none, open},

	{"ioctl TIOCSTI", at(unix.SYS_IOCTL, wrong, unix.TIOCSTI), none, unix.EPERM},
	{"ioctl TIOCSTI with junk", at(unix.SYS_IOCTL, wrong, junk|unix.TIOCSTI), none, unix.EPERM},
	{"ioctl TIOCLINUX", at(unix.SYS_IOCTL, wrong, unix.TIOCLINUX), none, unix.EPERM},
	{"ioctl", at(unix.SYS_IOCTL, wrong, unix.TIOCGWINSZ), none, open},

	{"personality", at(unix.SYS_PERSONALITY, 0x0440000), none, unix.EPERM},
	{"personality with junk", at(unix.SYS_PERSONALITY, junk|0x0400000), none, unix.EPERM},
	{"personality asked for", at(unix.SYS_PERSONALITY, 0xffffffff), none, open},
	{"personality without random addresses", at(unix.SYS_PERSONALITY, 0x0040000), none, open},
	{"prctl of the memory map", at(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_MAP_SIZE, wrong), none, unix.EPERM},
	{"prctl", at(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE), none, open},
	{"move_pages of another", at(unix.SYS_MOVE_PAGES, 1<<22), none, unix.EPERM},
	{"move_pages", at(unix.SYS_MOVE_PAGES, 0), none, open},
	{"a number to come", at(999), none, unix.ENOSYS},
	{"memfd_create", at(unix.SYS_MEMFD_CREATE, wrong), none, open},
	{"landlock", at(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1), none, open},

	{"socket of IPv4", socket(unix.AF_INET, unix.SOCK_STREAM, 0), none, unix.EPERM},
	{"socket of IPv6", socket(unix.AF_INET6, unix.SOCK_DGRAM, 0), none, unix.EPERM},
	{"socket with junk", socket(junk|unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0), none, unix.EPERM},
	{"socket of IPv4, inet", socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0), inetAll, open},
	{"datagrams, inet", socket(unix.AF_INET, unix.SOCK_DGRAM, 0), inetAll, open},
	{"ping, inet", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), inetAll, open},
	{"raw, inet", socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP), inetAll, unix.EPERM},
	{"raw with junk, inet", socket(unix.AF_INET6, junk|unix.SOCK_RAW, unix.IPPROTO_RAW), inetAll, unix.EPERM},
	{"packet in disguise, inet", socket(unix.AF_INET, unix.SOCK_PACKET, 0x300), inetAll, unix.EPERM},
	{"UDP-Lite, inet", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE), inetAll, unix.EPERM},
	{"MPTCP, inet", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), inetAll, open},
	{"TCP, tcp only", socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP), tcp, open},
	{"MPTCP, tcp only", socket(unix.AF_INET, unix.SOCK_STREAM, junk|unix.IPPROTO_MPTCP), tcp, unix.EPERM},
	{"SCTP, tcp only", socket(unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP), tcp, unix.EPERM},
	{"datagrams, tcp only", socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0), tcp, unix.EPERM},
	{"ping, tcp only", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP), tcp, unix.EPERM},
	{"sendto that connects, tcp only", at(unix.SYS_SENDTO, wrong, 0, 0, unix.MSG_FASTOPEN), tcp, unix.EPERM},
	{"sendmsg that connects, tcp only", at(unix.SYS_SENDMSG, wrong, 0, unix.MSG_FASTOPEN), tcp, unix.EPERM},
	{"sendmsg, tcp only", at(unix.SYS_SENDMSG, wrong, 0, unix.MSG_NOSIGNAL), tcp, open},
	{"sendmsg", at(unix.SYS_SENDMSG, wrong, 0, unix.MSG_NOSIGNAL), none, open},
	{"unix socket", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0), none, unix.EPERM},
	{"unix socket, unix", socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0), unixToo, open},
	{"netlink of routes", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), none, open},
	{"netlink of events", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT), none, unix.EPERM},
	{"packets", socket(unix.AF_PACKET, unix.SOCK_RAW, 0), inetAll, unix.EPERM},
	{"vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), inetAll, unix.EPERM},
	{"no family", socket(200, unix.SOCK_STREAM, 0), inetAll, unix.EPERM},
	{"pair of streams", at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0, wrong), none, open},
	{"pair of packets", at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, wrong), none, open},
	{"pair of datagrams", at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, wrong), none, unix.EPERM},
	{"raw pair, which is one of datagrams", at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_RAW, 0, wrong), none, unix.EPERM},
	{"pair of datagrams, unix", at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, wrong), unixToo, open},
	{"pair of another family", at(unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_STREAM, 0, wrong), unixToo, unix.EPERM},

	{"setpgid, held", at(unix.SYS_SETPGID, wrong), keepGroup, unix.EPERM},
	{"setpgid", at(unix.SYS_SETPGID, wrong), none, open},
	{"setsid, held", at(unix.SYS_SETSID), keepGroup, unix.EPERM},
	{"clone of a sibling, held", at(unix.SYS_CLONE, unix.CLONE_PARENT|unix.CLONE_SIGHAND), keepGroup, unix.EPERM},
	{"clone3 of a sibling, held and nested", at(unix.SYS_CLONE3, wrong, 88), Options{Nested: true, KeepProcessGroup: true}, unix.ENOSYS},
	{"limits of another, held", at(unix.SYS_PRLIMIT64, 1<<22, unix.RLIMIT_CORE, wrong), keepGroup, unix.EPERM},
	{"limits of another with junk, held", at(unix.SYS_PRLIMIT64, 1<<22, unix.RLIMIT_CORE, junk), keepGroup, unix.EPERM},
	{"own limits, held", at(unix.SYS_PRLIMIT64, junk, unix.RLIMIT_CORE, wrong), keepGroup, open},
	{"limits read, held", at(unix.SYS_PRLIMIT64, 1<<22, unix.RLIMIT_CORE, 0, wrong), keepGroup, open},
	{"shared memory, held", at(unix.SYS_SHMAT, wrong), keepGroup, unix.EPERM},
	{"shared memory", at(unix.SYS_SHMAT, wrong), none, open},
	{"message queue, held", at(unix.SYS_MQ_OPEN, wrong), keepGroup, unix.EPERM},
}, archCalls...)

func socket(family, kind, protocol uint64) attempt {
	return at(unix.SYS_SOCKET, family, kind, protocol)
}

// noControl are calls that would do harm if allowed, or that this kernel may not have, so that there is no
// result to compare with.
var noControl = []uint32{
	unix.SYS_VHANGUP, unix.SYS_SETSID, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
}

// plainCalls are the calls that are refused whatever their arguments.
func plainCalls() []realCall {
	var all []realCall
	for nr, d := range rules(&Options{}) {
		if d == refuse || d == hideCall {
			all = append(all, realCall{"plain " + callNames[nr] + archNames[nr], at(nr, wrong, wrong, wrong, wrong, wrong, wrong), none, unix.EPERM})
		}
	}
	return all
}

// Each call is made under the filter, by root and by an ordinary user, and without it. The result without the
// filter must differ, so that no call passes because it is invalid.
func TestCalls(t *testing.T) {
	all := slices.Concat(realCalls, plainCalls())
	users := map[string]int{"caller": 0, "user": 12345}
	if !isRoot() {
		delete(users, "user")
		t.Log("the same as another user, and the control of what root may do: needs root")
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			for user, uid := range users {
				free := run(t, job{UID: uid, Calls: []attempt{c.attempt}}).Errnos[0]
				got := run(t, job{UID: uid, Calls: []attempt{c.attempt}, Filter: true, Options: c.options}).Errnos[0]
				want := c.want
				switch {
				case want == open && free == unix.EPERM && got == free:
					t.Skip("the kernel refuses this by itself")
				case want == open:
					want = free
				case free == want && want == unix.EPERM && uid == 0 && isRoot() && !slices.Contains(noControl, c.Number):
					t.Errorf("%s: without the filter it says %v too", user, free)
				}
				if got != want {
					t.Errorf("%s: %v, want %v; without the filter: %v", user, got, want, free)
				}
			}
		})
	}
}

// A call through the 32-bit interface fails.
func TestForeignABI(t *testing.T) {
	if o := run(t, job{Foreign: true}); o.Foreign <= 0 {
		testneed.Need(t, "the kernel has no 32-bit interface (%d): IA32_EMULATION makes this run", o.Foreign)
	}
	for _, notify := range []bool{false, true} {
		o := run(t, job{Filter: true, Options: Options{Notify: notify}, Foreign: true})
		if o.Foreign != -int64(unix.ENOSYS) {
			t.Errorf("getpid by int 0x80, notify %v: %d, want %d", notify, o.Foreign, -int64(unix.ENOSYS))
		}
		if notify && (len(o.Refusals) != 1 || o.Refusals[0].Call != "32-bit call") {
			t.Errorf("reported %v", o.Refusals)
		}
	}
}

// Allowed calls and quietly refused calls are not reported; all others are reported by name.
func TestReportedCalls(t *testing.T) {
	by := map[Options][]realCall{}
	for _, c := range slices.Concat(realCalls, plainCalls()) {
		c.options.Notify = true
		by[c.options] = append(by[c.options], c)
	}
	for o, all := range by {
		program := filter(t, o)
		for some := range slices.Chunk(all, maxNames/2) {
			want := map[string]int{}
			var calls []attempt
			for _, c := range some {
				calls = append(calls, c.attempt)
				if verdict, _, err := interpret(program, arch, c.Number, c.Args); err != nil {
					t.Fatal(err)
				} else if verdict == returnNotify {
					reported := call{number: c.Number, arch: arch, args: c.Args}
					want[reported.name()]++
				}
			}
			out := run(t, job{Filter: true, Options: o, Calls: calls})
			got := map[string]int{}
			for _, r := range out.Refusals {
				got[r.Call] = r.Count
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v: told of %v, want %v", o, got, want)
			}
			for i, c := range some {
				if c.want != open && out.Errnos[i] != c.want {
					t.Errorf("%s: %v, want %v", c.name, out.Errnos[i], c.want)
				}
			}
		}
	}
}
