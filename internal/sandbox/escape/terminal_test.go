//go:build linux

package escape

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal creates a terminal; the host sees a marker that is typed or printed on it.
func (f *fixture) openTerminal(t *testing.T) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.pty = master
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); failed == nil {
			failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	f.Pts = fmt.Sprintf("/dev/pts/%d", n)
	if isRoot {
		if err := os.Chown(f.Pts, f.caller.uid, f.caller.uid); err != nil {
			t.Fatal(err)
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, 256)
		var all strings.Builder
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			if all.Write(b[:n]); strings.Contains(all.String(), f.Marker) {
				f.addHarm("the terminal got %q", all.String())
				all.Reset()
			}
		}
	})
	t.Cleanup(func() { master.Close(); reading.Wait() })
}

// slave returns the terminal's other end. One stays open during the test, because reading the master ends
// with the last one.
func (f *fixture) slave(t *testing.T) *os.File {
	t.Helper()
	var last *os.File
	for range 2 {
		s, err := os.OpenFile(f.Pts, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			t.Cleanup(func() { s.Close() })
			return last
		}
		last = s
	}
	return last
}

// typeInto pushes the marker into the input of a terminal, as if it had been typed.
func typeInto(fd int, request uintptr, marker string) error {
	for i := range len(marker) {
		c := marker[i]
		if err := ioctlByte(fd, request, &c); err != nil {
			return fmt.Errorf("TIOCSTI: %w", err)
		}
	}
	return nil
}

// ownTerminal creates a terminal of the probe and makes it the controlling one, as a program that types into
// it would.
func ownTerminal() (int, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	return unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY, 0)
}

var terminals = []attempt{
	{id: "P07", what: "open the terminal of the caller", tty: true, inner: true, script: `exec 3<>/dev/tty`},
	{id: "T01", what: "type into the caller's terminal (TIOCSTI)", terminal: true, try: func(p *outside) error {
		return typeInto(0, unix.TIOCSTI, p.Marker)
	}},
	{id: "T02", what: "type into the caller's terminal with upper bits in the request", terminal: true, try: func(p *outside) error {
		return typeInto(0, 1<<32|unix.TIOCSTI, p.Marker)
	}},
	{id: "T03", what: "write to a terminal of the host by its name", tty: true, script: `echo "$MARKER" >"$PTS"`},
	{id: "T04", what: "type into a terminal of the command's own", inner: true, try: func(p *outside) error {
		fd, err := ownTerminal()
		if err != nil {
			return fmt.Errorf("no terminal: %w", err)
		}
		if pid, _, e := unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 && pid == 0 {
			return e
		}
		if err := unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0); err != nil {
			return err
		}
		return typeInto(fd, unix.TIOCSTI, "x")
	}},
	{id: "T05", what: "paste into a virtual console (TIOCLINUX)", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_RDWR|unix.O_NOCTTY, "/dev/tty1", "/dev/console", "/dev/tty0", "/dev/vcs")
	}},
}
