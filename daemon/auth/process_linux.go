package auth

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stat reads /proc/PID/stat: "PID (COMMAND) STATE PPID …", where the command may hold
// anything and the start is the 22nd field.
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

// hasSocket reports whether a process below the daemon holds the client's end of a
// TCP connection over loopback.
func (t tree) hasSocket(client, server netip.AddrPort) bool {
	held := map[string]bool{}
	seen := map[int]bool{t.root: true}
	for queue := children(t.root); len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		queue = append(queue, children(pid)...)
		sockets(pid, held)
	}
	if len(held) == 0 {
		return false
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if inode := inodeOf(table, client, server); inode != "" {
			return held[inode]
		}
	}
	return false // in another network: what runs there has no loopback in common with us
}

// children lists what the threads of a process have started.
func children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var out []int
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for w := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// sockets notes the inodes of a process's open sockets.
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

// inodeOf finds a socket by its two ends in /proc/net/tcp or tcp6.
func inodeOf(table string, local, remote netip.AddrPort) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 10 {
			continue
		}
		l, ok1 := parseEnd(w[1])
		r, ok2 := parseEnd(w[2])
		if ok1 && ok2 && l == unmapped(local) && r == unmapped(remote) {
			return w[9]
		}
	}
	return ""
}

func unmapped(ap netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// parseEnd reads "0100007F:1F90": words of the address in the machine's byte order.
func parseEnd(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), true
}
