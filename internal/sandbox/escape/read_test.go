//go:build linux

package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reads try to read hidden data.
var reads = []attempt{
	{id: "R01", what: "read a denied file", script: `cat "$SECRET/key"`},
	{
		id: "R04", what: "read a hard link to a secret that lay in the workspace before", script: `cat "$WS/pre_hl"`,
		arrange: func(t *testing.T, f *fixture) { must(t, os.Link(f.Secret+"/linked", f.WS+"/pre_hl")) },
		refused: true, documented: func(f *fixture, o *outcome) string {
			if !strings.Contains(o.notices, "linked") {
				return "no notice names the secret that has another name: " + o.notices
			}
			return ""
		},
	},
	{id: "R05", what: "read a denied file through /proc/self/root", script: `cat "/proc/self/root$SECRET/key"`},
	{id: "R09", what: "learn whether a denied file exists", inner: true, try: func(p *outside) error {
		var st unix.Stat_t
		return unix.Stat(p.Secret+"/key", &st)
	}},
	{id: "R10", what: "find a secret in the environment", script: `env | grep API_KEY`},
	{id: "R11", what: "read the environments of all processes", script: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep _KEY=`},
	{id: "R13", what: "read another process's memory", try: func(p *outside) error {
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.Victim))
		if err != nil {
			return err
		}
		b := make([]byte, 30)
		n, err := mem.ReadAt(b, int64(p.VictimEnv))
		fmt.Printf("%q\n", b[:n])
		return err
	}},
	{id: "R14", what: "trace another process", inner: true, try: func(p *outside) error { return traced(p.Victim) }},
	{id: "R15", what: "read another process's memory with process_vm_readv", try: func(p *outside) error {
		b, err := memoryOf(p.Victim, p.VictimEnv, 30)
		fmt.Printf("%q\n", b)
		return err
	}},
	{
		id: "R27", what: "read the machine's memory", inner: true, root: true, absent: without("/dev/mem"),
		try: func(*outside) error { return openedOne(unix.O_RDONLY, "/dev/mem", "/dev/port", "/proc/kcore") },
	},
	{
		id: "R28", what: "read the kernel's log", inner: true, root: true, absent: without("/dev/kmsg"),
		try: func(*outside) error { return openedOne(unix.O_RDONLY|unix.O_NONBLOCK, "/dev/kmsg", "/proc/kmsg") },
	},
	{id: "R43", what: "watch a denied folder", inner: true, try: func(p *outside) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, p.Secret, unix.IN_ALL_EVENTS)
		return err
	}},

	{id: "A01", what: "read a denied file through the folder that the parent left open", try: func(p *outside) error {
		return readAt(leaked, "../secret/key")
	}},
	{id: "A02", what: "read a secret of the home folder", script: `cat "$REALHOME/.ssh/id_ed25519"`},
	{id: "A03", what: "read the agent's own state", script: `cat "$STATE/audit/log"`},
	{id: "A04", what: "read the environment and the memory of the parent", try: func(*outside) error {
		pid := os.Getppid()
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && !strings.Contains(string(b), "API_KEY") {
			err = errors.New("nothing in it")
		}
		fmt.Printf("%q\n", b)
		return anyOf(func() error { return err }, func() error { return searchMemory(pid, "API_KEY=") })
	}},
	{id: "A05", what: "read a denied file by a link in the workspace", script: `ln -s "$SECRET/key" l && cat l`},
	{id: "A06", what: "give a denied file another name and read that", script: `ln "$SECRET/key" "$WS/l" && cat "$WS/l"`},
	{id: "A07", what: "open a denied file as a name only, and again through /proc", try: func(p *outside) error {
		fd, err := unix.Open(p.Secret+"/key", unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return printFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	}},
	{
		id: "A08", what: "open a file by its handle", root: true, arrange: func(t *testing.T, f *fixture) {
			h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, f.Secret+"/key", 0)
			must(t, err)
			must(t, os.WriteFile(f.WS+"/handle", append([]byte{byte(h.Type())}, h.Bytes()...), 0o644))
		},
		try: func(p *outside) error {
			b, err := os.ReadFile(p.WS + "/handle")
			if err != nil {
				return fmt.Errorf("%w: %w", errBroken, err)
			}
			dir, err := unix.Open(p.WS, unix.O_RDONLY, 0)
			if err != nil {
				return fmt.Errorf("%w: %w", errBroken, err)
			}
			fd, err := unix.OpenByHandleAt(dir, unix.NewFileHandle(int32(b[0]), b[1:]), unix.O_RDONLY)
			if err != nil {
				return err
			}
			return printFile(fmt.Sprintf("/proc/self/fd/%d", fd))
		},
	},
	{id: "A09", what: "list a denied folder", script: `ls "$SECRET" | grep key`, inner: true},
	{
		id: "A10", what: "read a file that is denied by its own name", script: `cat "$OUT/key.pem"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.Out+"/key.pem", f.token) }, settings: denyKey,
	},
	{
		id: "A11", what: "learn the size of a file that is denied by its own name", inner: true,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.Out+"/key.pem", f.token) }, settings: denyKey,
		try: func(p *outside) error {
			var st unix.Stat_t
			if err := unix.Stat(p.Out+"/key.pem", &st); err != nil {
				return err
			}
			if st.Size == 0 {
				return errors.New("it looks empty")
			}
			return nil
		},
	},
	{
		id: "A12", what: "read a secret in the workspace that is denied by its own name", script: `cat "$WS/.env"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/.env", f.token) }, settings: denyEnv,
	},
	{
		id: "A13", what: "move a denied file of the workspace away and read it", script: `mv "$WS/.env" "$WS/e"; cat "$WS/e"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/.env", f.token) }, settings: denyEnv,
	},
	{
		id: "A14", what: "move the folder of a denied file away and read the file", script: `mv "$WS/conf" "$WS/c"; cat "$WS/c/.env"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/conf/.env", f.token) }, settings: denyEnv,
	},
	{
		id: "A15", what: "move the folder of a denied file away, and read the file in the next command",
		before: `mv "$WS/conf" "$WS/c"`, script: `cat "$WS/c/.env"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/conf/.env", f.token) }, settings: denyEnv,
	},
	{id: "A16", what: "copy a denied folder with what reads many files at once", script: `tar cf - -C "$BASE" secret 2>/dev/null | tr -d '\0' | grep -a s3cret`},
	{id: "A17", what: "map a denied file into memory with what loads programs", script: `LD_PRELOAD="$SECRET/key" /bin/true 2>&1 | grep -qE "invalid ELF|too short"`, inner: true},
	{id: "A18", what: "ask git for a denied file", script: `git diff --no-index /dev/null "$SECRET/key" | grep s3cret`},
	{id: "A19", what: "read the maps of a process of the host", inner: true, try: func(p *outside) error {
		return openedOne(unix.O_RDONLY, fmt.Sprintf("/proc/%d/maps", p.Victim), fmt.Sprintf("/proc/%d/cwd", p.Victim))
	}},
	{id: "A20", what: "see the host's processes", inner: true, try: func(p *outside) error {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", p.Victim))
		return err
	}},
	{
		id: "A21", what: "find what a program of the sandbox holds open beyond its three", inner: true,
		script: `n=3; while [ $n -lt 1024 ]; do [ -e /proc/self/fd/$n ] && { ls -l /proc/$$/fd; exit 0; }; n=$((n+1)); done; exit 1`,
	},
	{id: "A22", what: "reach the files of init, the parent inside", inner: true, try: func(*outside) error {
		names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/[3-9]*", os.Getppid()))
		for _, name := range names {
			to, err := os.Readlink(name)
			fmt.Println(name, to, err)
			if err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "pipe:") {
				return nil
			}
		}
		return errors.Join(err, errors.New("nothing of use"))
	}},
}

// searchMemory searches for a word in the memory of a process and prints what follows.
func searchMemory(pid int, word string) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x rw", &from, &to); n < 2 || to-from > 1<<28 {
			continue
		}
		b := make([]byte, to-from)
		n, _ := mem.ReadAt(b, int64(from))
		if i := strings.Index(string(b[:n]), word); i >= 0 {
			fmt.Printf("%q\n", b[i:min(i+64, n)])
			return nil
		}
	}
	return errors.New("nothing in its memory")
}

func traced(pid int) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
	return errno(e) // it ends with this process
}

func readAt(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return printFile(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func printFile(name string) error {
	b, err := os.ReadFile(name)
	fmt.Printf("%s\n", b)
	return err
}

// ipcs try to reach other processes by means other than files and the network.
var ipcs = []attempt{
	{id: "R23", what: "leave a key in the user's keyring", inner: true, try: func(p *outside) error {
		b := []byte("x")
		id, err := result(unix.SYS_ADD_KEY, cString("user"), cString(p.Marker), uintptr(unsafe.Pointer(&b[0])), 1, userKeyring)
		if err != nil {
			return err
		}
		_, err = unix.KeyctlInt(unix.KEYCTL_SET_TIMEOUT, int(id), 5, 0, 0)
		return err
	}},
	{id: "R25", what: "receive from a POSIX queue of the host", try: func(p *outside) error {
		fd, err := result(unix.SYS_MQ_OPEN, cString(p.Queue), unix.O_RDWR|unix.O_NONBLOCK)
		if err != nil {
			return err
		}
		b := make([]byte, 64)
		n, err := result(unix.SYS_MQ_TIMEDRECEIVE, fd, uintptr(unsafe.Pointer(&b[0])), 64, 0, 0)
		fmt.Printf("%s\n", b[:n&63])
		return err
	}},
	{id: "I01", what: "attach shared memory of the host", try: func(p *outside) error {
		id, err := unix.SysvShmGet(p.Shm, 0, 0)
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", b[:32])
		return nil
	}},
	{id: "I02", what: "list shared memory of the host", script: `cat /proc/sysvipc/shm | awk 'NR>1' | grep -q .`, inner: true},
	{id: "I03", what: "search the keyring of the session", inner: true, try: func(*outside) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	}},
	{id: "I04", what: "look at a process of the host with a descriptor of it", inner: true, try: func(p *outside) error {
		_, err := unix.PidfdOpen(p.Victim, 0)
		return err
	}},
	{id: "I05", what: "take a descriptor out of the parent", try: func(p *outside) error {
		pidfd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		fd, err := unix.PidfdGetfd(pidfd, leaked, 0)
		if err != nil {
			return err
		}
		return readAt(fd, "../secret/key")
	}},
	{id: "I06", what: "compare kernel objects of two processes (kcmp)", inner: true, try: func(p *outside) error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getppid()), 0, 0, 0)
	}},
	{id: "I07", what: "advise memory of the parent", inner: true, root: true, try: func(*outside) error {
		pidfd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		return permitted(unix.SYS_PROCESS_MADVISE, uintptr(pidfd), 0, 0, unix.MADV_COLD, 0)
	}},
}

// userKeyring is KEY_SPEC_USER_KEYRING, -4, as a system call takes it.
const userKeyring = ^uintptr(3)
