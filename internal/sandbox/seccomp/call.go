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

// call is a call that waits for its answer (struct seccomp_notif).
type call struct {
	id     uint64
	pid    uint32
	flags  uint32
	number uint32
	arch   uint32
	at     uint64 // the instruction behind the call
	args   [6]uint64
}

// reply is its answer (struct seccomp_notif_resp).
type reply struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// arg is the half of an argument that the kernel and the filter read.
func (c *call) arg(i int) uint32 { return uint32(c.args[i]) }

// errno is the answer, as the kernel counts: below zero.
func (c *call) errno() int32 {
	if c.arch != arch {
		return -int32(unix.ENOSYS)
	}
	return -int32(unix.EPERM)
}

// looksUpNames says whether a call is how a C library asks a cache for the name of
// a user or a host. Nearly every program does, and goes on without one, so this
// would hide what matters. Only the library's own code counts: clients of other
// services open their sockets with the same arguments.
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

// maxMaps is how much of a process' list of mappings is read, in bytes.
const maxMaps = 256 << 10

// within says whether a call was made from a library with such a name.
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
