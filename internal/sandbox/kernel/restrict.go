//go:build linux && (amd64 || arm64)

package kernel

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

func itoa[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// addIDMap maps the caller into the new user namespace.
func (j *Jail) addIDMap(p *program) {
	p.begin("map the user into its namespace")
	self := p.newSlot(p.call(unix.SYS_OPENAT, num(atCwd), p.path("/proc/self"), num(unix.O_PATH|unix.O_CLOEXEC), num(0)))
	write := func(file, text string) {
		fd := p.newSlot(p.call(unix.SYS_OPENAT, self, p.path(file), num(unix.O_WRONLY|unix.O_CLOEXEC), num(0)))
		p.call(unix.SYS_WRITE, fd, at(p.bytes([]byte(text))), num(len(text)))
		p.call(unix.SYS_CLOSE, fd) // a mount cannot become read-only while a file on it is open for writing
	}
	line := func(id int) string { return itoa(j.idInside(id)) + " " + itoa(id) + " 1\n" }
	write("setgroups", "deny")
	write("uid_map", line(syscall.Geteuid()))
	write("gid_map", line(syscall.Getegid()))
}

const nobody = 65534

// addNetwork brings localhost up and creates the listener of the egress proxy.
func (j *Jail) addNetwork(p *program) {
	if j.policy.Network != ProxyNetwork && !j.policy.LocalBind {
		return
	}
	p.begin("bring localhost up")
	storeSlot(p.call(unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), num(0)), slotSocket)
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	request[16] = unix.IFF_UP
	p.call(unix.SYS_IOCTL, slot(slotSocket), num(unix.SIOCSIFFLAGS), at(p.bytes(request)))
	if j.policy.Network != ProxyNetwork {
		return
	}
	p.begin("listen for the proxy")
	address := []byte{unix.AF_INET, 0, byte(proxyPort >> 8), byte(proxyPort), 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	j.proxy = p.bytes(address)
	p.call(unix.SYS_BIND, slot(slotSocket), at(j.proxy), num(len(address)))
	p.call(unix.SYS_LISTEN, slot(slotSocket), num(128))
	descriptor, send := p.sender(messageListener)
	storeData(p.call(unix.SYS_FCNTL, slot(slotSocket), num(unix.F_DUPFD_CLOEXEC), num(0)), descriptor)
	send()
}

// listenAt sets the localhost address on which a command's proxy listens. Commands that share a
// localhost need different addresses.
func (j *Jail) listenAt(p *program, host netip.Addr) {
	if host.Is4() && j.proxy > 0 {
		ip := host.As4()
		copy(p.data[j.proxy+4:], ip[:])
	}
}

var proxyPort = func() int {
	_, port, _ := net.SplitHostPort(ProxyAddr)
	n, _ := strconv.Atoi(port)
	return n
}()

// addLimits sets the limits of each process.
func (j *Jail) addLimits(p *program) {
	p.begin("set limits")
	set := func(resource int, most uint64) {
		p.call(unix.SYS_PRLIMIT64, num(0), num(resource), at(p.words(most, most)), num(0))
	}
	set(unix.RLIMIT_CORE, 0)
	if j.policy.FileSize > 0 {
		set(unix.RLIMIT_FSIZE, uint64(j.policy.FileSize))
	}
	for _, l := range j.rlimits {
		set(l.resource, l.most)
	}
}

type rlimit struct {
	resource int
	most     uint64
}

// addDropCapabilities drops all capabilities and every way to get one back. When root executes a program,
// it gets no capabilities (securebits), and neither does any other user (no_new_privs). The
// bounding set then has no effect; clearing it would take one call per capability.
func (j *Jail) addDropCapabilities(p *program) {
	p.begin("drop capabilities")
	call := p.call
	if j.weaker {
		call = p.try // without a user namespace there may be no permission for it
	}
	const noRoot = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80 // securebits and their locks, without KEEP_CAPS
	call(unix.SYS_PRCTL, num(unix.PR_SET_SECUREBITS), num(noRoot), num(0), num(0), num(0))
	p.call(unix.SYS_PRCTL, num(unix.PR_CAP_AMBIENT), num(unix.PR_CAP_AMBIENT_CLEAR_ALL), num(0), num(0), num(0))
	header := p.words(unix.LINUX_CAPABILITY_VERSION_3)
	p.call(unix.SYS_CAPSET, at(header), at(p.words(0, 0, 0)))
	p.begin("set no_new_privs")
	p.call(unix.SYS_PRCTL, num(unix.PR_SET_NO_NEW_PRIVS), num(1), num(0), num(0), num(0))
}

// addFilter installs the system call filter.
func (j *Jail) addFilter(p *program) {
	p.begin("install the system call filter")
	code := make([]byte, 0, 8*len(j.instructions))
	for _, in := range j.instructions {
		code = append(code, byte(in.Code), byte(in.Code>>8), in.Jt, in.Jf, byte(in.K), byte(in.K>>8), byte(in.K>>16), byte(in.K>>24))
	}
	where := p.bytes(code)
	prog := p.words(uint64(len(j.instructions)), 0)
	p.address(prog+8, where)
	if !j.policy.Notify {
		p.call(unix.SYS_SECCOMP, num(unix.SECCOMP_SET_MODE_FILTER), num(0), at(prog))
		return
	}
	descriptor, send := p.sender(messageNotify)
	storeData(p.call(unix.SYS_SECCOMP, num(unix.SECCOMP_SET_MODE_FILTER), num(listenerFlags()), at(prog)), descriptor)
	send()
}

// listenerFlags returns the flags for a listener that the command's signals do not disturb, if the kernel
// supports that (5.19). The call with a filter at address 0 shows whether the kernel knows the flag.
var listenerFlags = sync.OnceValue(func() int {
	const killable = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	flags := unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | killable
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), 0)
	if errno == unix.EINVAL {
		flags &^= killable
	}
	return flags
})
