package auth

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/listen"
)

// stat reads /proc/PID/stat: "PID (COMMAND) STATE PPID …". The command may contain any character,
// and the start time is field 22.
func stat(pid int) (process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(b)
}

func parseStat(b []byte) (process, error) {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return process{}, fmt.Errorf("/proc: %d fields", len(f))
	}
	parent, err := strconv.Atoi(string(f[1]))
	if err != nil {
		return process{}, err
	}
	started, err := strconv.ParseUint(string(f[19]), 10, 64)
	return process{parent, started}, err
}

// hasSocket reports whether a process below the daemon has the client's end of a TCP connection on
// this machine open. If includeSelf is set, it also checks the daemon itself. If no process has that end
// open any more, hasSocket returns true, because a process of a run may have sent the request and
// ended before this check.
func (t processTree) hasSocket(client, server netip.AddrPort) bool {
	inode := inodeOf(client, server)
	if inode == "" {
		return true
	}
	inodes := map[string]bool{}
	if t.includeSelf {
		sockets(t.root, inodes)
	}
	seen := map[int]bool{t.root: true}
	for queue := listen.Children(t.root); len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		queue = append(queue, listen.Children(pid)...)
		sockets(pid, inodes)
	}
	return inodes[inode] || inodeOf(client, server) != inode
}

// sockets adds the inodes of the open sockets of a process.
func sockets(pid int, into map[string]bool) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			into[strings.TrimSuffix(inode, "]")] = true
		}
	}
}

// inodeOf finds the inode of the socket with these two ends. It returns "" if there is no such
// socket or no process has it open. It asks the kernel for this one socket. If the kernel does not
// support that, it reads the tables of all sockets, which takes longer the more sockets there are.
func inodeOf(local, remote netip.AddrPort) string {
	if inode, err := askInode(local, remote); err == nil {
		return inode
	}
	return readInode(local, remote)
}

// readInode searches /proc/net/tcp and tcp6.
func readInode(local, remote netip.AddrPort) string {
	for table, wide := range map[string]bool{"/proc/net/tcp": false, "/proc/net/tcp6": true} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		_, after, found := bytes.Cut(b, []byte(" "+endOf(local, wide)+" "+endOf(remote, wide)+" "))
		if w := bytes.Fields(after); found && len(w) > inodeField && string(w[inodeField]) != "0" {
			return string(w[inodeField])
		}
	}
	return ""
}

// inodeField is the index of the inode in the fields that follow the two ends.
const inodeField = 6

// endOf returns one end of a connection, such as "0100007F:1F90". The words of the address are in
// the machine's byte order. If wide is true, the address is written with 16 bytes, and an IPv4
// address as an IPv4-mapped one.
func endOf(ap netip.AddrPort, wide bool) string {
	a := ap.Addr().WithZone("")
	b := a.AsSlice()
	if m := a.Unmap(); wide {
		all := m.As16()
		b = all[:]
	} else if m.Is4() {
		b = m.AsSlice()
	}
	var text strings.Builder
	for ; len(b) > 0; b = b[4:] {
		fmt.Fprintf(&text, "%08X", binary.NativeEndian.Uint32(b))
	}
	return fmt.Sprintf("%s:%04X", text.String(), ap.Port())
}
