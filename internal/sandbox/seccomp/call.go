//go:build linux && (amd64 || arm64)

package seccomp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// call is a system call that waits for an answer (struct seccomp_notif).
type call struct {
	id     uint64
	pid    uint32
	flags  uint32
	number uint32
	arch   uint32
	at     uint64 // address of the instruction after the call
	args   [6]uint64
}

// reply is the watcher's answer to a call (struct seccomp_notif_resp).
type reply struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// arg returns the half of an argument that the kernel and the filter read.
func (c *call) arg(i int) uint32 { return uint32(c.args[i]) }

// errno returns the error number for the answer. It is negative, as in the kernel.
func (c *call) errno() int32 {
	if c.arch != arch {
		return -int32(unix.ENOSYS)
	}
	return -int32(unix.EPERM)
}

// writes reports whether the filter reported the call only because it writes; such a call is
// allowed.
func (c *call) writes() bool {
	d := writeRules[c.number]
	return c.arch == arch && d != nil && d.of(&c.args) == seen
}

// file returns the absolute path that a writing call names, or "" if it cannot be read. The caller may change
// the path afterwards. buf is a buffer for the path.
func (c *call) file(buf []byte) string {
	at := 0 // index of the path argument
	if c.number == unix.SYS_OPENAT || c.number == unix.SYS_MKDIRAT {
		at = 1
	}
	n, err := unix.ProcessVMReadv(int(c.pid), []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}},
		[]unix.RemoteIovec{{Base: uintptr(c.args[at]), Len: len(buf)}}, 0)
	if err != nil {
		return ""
	}
	name, _, whole := strings.Cut(string(buf[:n]), "\x00")
	if !whole || name == "" {
		return ""
	}
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	folder := fmt.Sprintf("/proc/%d/cwd", c.pid)
	if dir := int32(c.arg(0)); at == 1 && dir != unix.AT_FDCWD {
		folder = fmt.Sprintf("/proc/%d/fd/%d", c.pid, dir)
	}
	dir, err := os.Readlink(folder)
	if err != nil || !path.IsAbs(dir) {
		return ""
	}
	return path.Join(dir, name)
}

// looksUpNames reports whether the C library makes a call to look up the name of a user or a host
// in a cache. Nearly every program makes this call and continues without an answer. If it were
// reported, it would hide important calls. Only calls from the library's code match: clients of
// other services open their sockets with the same arguments.
func (c *call) looksUpNames() bool {
	if c.arch != arch || c.number != unix.SYS_SOCKET || c.arg(0) != unix.AF_UNIX || c.arg(2) != 0 {
		return false
	}
	switch c.arg(1) {
	case unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK:
		return c.within("libc.so", "libc-2")
	case unix.SOCK_STREAM | unix.SOCK_CLOEXEC:
		return c.within("ld-musl-", "libc.musl-")
	}
	return false
}

// maxMaps is the number of bytes read of a process's list of mappings.
const maxMaps = 256 << 10

// within reports whether a call was made from a library whose name has one of the prefixes.
func (c *call) within(prefixes ...string) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxMaps))
	for lines.Scan() {
		var from, to uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil || c.at < from || c.at >= to {
			continue
		}
		name := path.Base(lines.Text())
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
	return false
}
