//go:build linux

package escape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// killParent kills the parent and waits until it has ended.
const killParent = `kill -%s $PPID; n=0; while [ -d /proc/$PPID ] && [ $n -lt 30 ]; do n=$((n+1)); sleep 0.01; done; [ ! -d /proc/$PPID ]`

// processes try to affect processes outside, to outlive the command, or to gain rights.
var processes = []attempt{
	{id: "P02", what: "kill the supervisor", script: fmt.Sprintf(killParent, "9")},
	{id: "P04", what: "change another process's limits", try: func(p *outside) error {
		return unix.Prlimit(p.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}, nil)
	}},
	{id: "P09", what: "leave a program that runs as its owner", script: `cp /bin/sh "$WS/sbash" && chmod u+s "$WS/sbash" && [ -u "$WS/sbash" ]`},
	{id: "P10", what: "have any capability", root: true, inner: true, script: `grep -E 'Cap(Eff|Prm|Inh|Amb):' /proc/self/status | grep -qv 0000000000000000`},
	{id: "P13", what: "make a user namespace with clone3", inner: true, try: func(*outside) error { return clone3(unix.CLONE_NEWUSER, 0) }},
	{id: "P25", what: "outlive the command", private: true, script: `setsid sh -c 'while [ ! -e "$WS/go" ]; do sleep 0.02; done; echo x >"$WS/survivor"' >/dev/null 2>&1 </dev/null &`, after: survivor},
	{id: "P37", what: "leave a dump of memory", script: `cd "$WS"; ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls core*`, absent: noCore},
	{
		id: "P40", what: "send the terminal more than text", inner: true, script: `printf '\033]52;c;ZXZpbA==\007\033]0;title\007'`,
		documented: func(_ *fixture, o *outcome) string {
			if !strings.Contains(o.out, "\x1b]52") {
				return "what a program says is changed on its way"
			}
			return "" // a program's output is stored unchanged; the program that displays it escapes it
		},
	},
	{
		id: "P42", what: "leave processes and files behind", private: true,
		script: `(setsid sleep 300 >/dev/null 2>&1 </dev/null &); : >"/tmp/$MARKER"; : >"/dev/shm/$MARKER"; : >"$WS/own"`,
		after: func(t *testing.T, f *fixture, _ *outcome) {
			if f.box.Plain {
				return
			}
			names, err := os.ReadDir(f.WS)
			must(t, err)
			for _, e := range names {
				if !slices.Contains([]string{".git", "sub", "m2", "main.go", "sock", "own"}, e.Name()) {
					f.addHarm("%s is left in the workspace", e.Name())
				}
			}
		},
	},

	{id: "K01", what: "end the parent politely", script: fmt.Sprintf(killParent, "TERM")},
	{id: "K02", what: "kill the caller's process group", script: `kill -9 0`},
	{id: "K03", what: "kill another process", script: `kill -9 "$VICTIM"`},
	{id: "K04", what: "stop another process with a descriptor of it", try: func(p *outside) error {
		fd, err := unix.PidfdOpen(p.Victim, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}},
	{id: "K05", what: "make another process slower", try: func(p *outside) error { return unix.Setpriority(unix.PRIO_PROCESS, p.Victim, 10) }},
	{id: "K06", what: "make another process wait for its disk", try: func(p *outside) error {
		return call(unix.SYS_IOPRIO_SET, 1, uintptr(p.Victim), 3<<13)
	}},
	{id: "K07", what: "keep another process on one processor", absent: oneProcessor, try: func(p *outside) error {
		var one unix.CPUSet
		one.Set(0)
		return unix.SchedSetaffinity(p.Victim, &one)
	}},
	{id: "K08", what: "write into the memory of the parent", inner: true, try: func(*outside) error {
		return writeMemory(os.Getppid())
	}},
	{id: "K09", what: "trace the parent", inner: true, try: func(*outside) error { return traced(os.Getppid()) }},
	{id: "K10", what: "change limits of the parent", private: true, try: func(*outside) error {
		var now unix.Rlimit
		if err := unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, nil, &now); err != nil {
			return err
		}
		now.Cur, now.Max = now.Max-1, now.Max-1
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, &now, nil)
	}},
	{id: "K11", what: "make a user namespace with unshare", script: `unshare -U true`, inner: true, absent: lacks("unshare")},
	{id: "K12", what: "make a mount namespace and remove what hides", root: true, apart: true, script: `unshare -m sh -c 'umount -l "$SECRET"; cat "$SECRET/key"'`},
	{id: "K13", what: "enter the namespaces of the parent", root: true, inner: true, try: func(*outside) error {
		return enter(fmt.Sprintf("/proc/%d/ns/uts", os.Getppid()), unix.CLONE_NEWUTS)
	}},
	{id: "K14", what: "make a user namespace with clone", inner: true, try: func(*outside) error {
		return inChild(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	}},
	{id: "K15", what: "make a user namespace with upper bits in the flags", inner: true, try: func(*outside) error {
		return inChild(unix.SYS_CLONE, 1<<32|unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	}},
	{id: "K16", what: "start in another control group (CLONE_INTO_CGROUP)", root: true, inner: true, absent: noUnified, try: func(*outside) error {
		fd, err := openOneOf("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
		if err != nil {
			return err
		}
		return clone3(unix.CLONE_INTO_CGROUP, uint64(fd))
	}},
	{id: "K17", what: "enter namespaces by a descriptor of a process", root: true, inner: true, try: func(*outside) error {
		fd, err := unix.PidfdOpen(os.Getppid(), 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	{
		id: "K18", what: "in a namespace of its own, remove what hides and make the rest writable", settings: nested, absent: lacks("unshare"),
		script: `unshare -Ur --propagation unchanged -m sh -c 'umount -l "$SECRET" "$STATE"; mount -o remount,bind,rw "$OUT"; mount -o remount,bind,rw /; cat "$SECRET/key"; echo x >>"$OUT/file"'`,
	},
	{
		id: "K19", what: "in a namespace of its own, remove what protects a hook", settings: nested, absent: lacks("unshare"),
		script: `unshare -Ur --propagation unchanged -m sh -c 'umount -l "$WS/.git/hooks" "$WS/.git"; : >"$WS/.git/hooks/pre-commit"'`,
	},
	{
		id: "K20", what: "in a namespace of its own, see the host's tree by a fresh mount", settings: nested, absent: lacks("unshare"),
		script: `mkdir "$WS/m"; unshare -Ur --propagation unchanged -m sh -c 'mount --rbind / "$WS/m"; cat "$WS/m$SECRET/key" || cat "$SECRET/key"'`,
	},
	{id: "K21", what: "follow the supervisor's fate with a signal from the kernel (F_SETOWN)", inner: true, try: func(p *outside) error {
		r, _, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		_, err = unix.FcntlInt(r.Fd(), unix.F_SETOWN, p.Victim)
		return err
	}},
	{id: "K24", what: "tell the supervisor that the command has ended, and go on", lingers: true, private: true, try: pretend},
	{id: "K22", what: "keep powers: an exec that gains some (no_new_privs is off)", inner: true, script: `grep -q 'NoNewPrivs:.*0' /proc/self/status`},
	{id: "K23", what: "have the host's user ids", root: true, inner: true, script: `[ "$(id -u)" = 0 ] || [ "$(awk '{print $3}' /proc/self/uid_map)" -gt 1 ]`},
}

// limits are limits on what a command uses.
var limits = []attempt{
	{id: "P27", what: "take 1 GiB of memory", inner: true, refused: !isRoot, settings: limited, try: func(*outside) error {
		b, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return nil
	}},
	{id: "P28", what: "open more files than the limit", inner: true, absent: fewFiles, try: func(*outside) error {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
			return err
		}
		if l.Max <= 65536 {
			return fmt.Errorf("at most %d", l.Max)
		}
		return nil
	}},
	{
		id: "P29", what: "fill the disk with one file", settings: limited, try: func(p *outside) error {
			fd, err := unix.Open(p.WS+"/big", unix.O_CREAT|unix.O_WRONLY, 0o644)
			if err != nil {
				return fmt.Errorf("%w: %w", errBroken, err)
			}
			if unix.Ftruncate(fd, 5<<30) == nil { // a sparse file: the control takes no space
				return nil
			}
			return unix.Fallocate(fd, 0, 0, 5<<30)
		},
		after: func(_ *testing.T, f *fixture, _ *outcome) {
			if i, err := os.Stat(f.WS + "/big"); err == nil && i.Size() > 1<<30 {
				f.addHarm("a file of %d bytes", i.Size())
			}
			_ = os.Remove(f.WS + "/big")
		},
	},
	{
		id: "P32", what: "flood the caller with output", private: true, settings: limited, script: `yes | head -c 100000000`,
		after: func(_ *testing.T, f *fixture, o *outcome) {
			if o.total > 1<<20+4096 {
				f.addHarm("%d bytes of output", o.total)
			}
			if !f.box.Plain && !strings.Contains(o.tail, "dropped") {
				f.addHarm("nothing says that output was dropped: %q", o.tail)
			}
		},
	},
}

func limited(f *fixture) *sandbox.Settings {
	l := &sandbox.Limits{FileSize: 1 << 30, OutputBytes: 1 << 20, WallTime: 30 * time.Second, Memory: 256 << 20, Pids: 256}
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, Limits: l}
}

func nested(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, AllowNestedSandbox: new(true)}
}

// survivor lets a process that outlived the command show itself.
func survivor(_ *testing.T, f *fixture, _ *outcome) {
	if !f.box.Plain && len(f.processes()) == 0 {
		return
	}
	_ = os.WriteFile(f.WS+"/go", nil, 0o666)
	if appears(f.WS+"/survivor", 5*time.Second) {
		f.addHarm("a process outlived the command")
	}
}

func noCore() string {
	var l unix.Rlimit
	pattern, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	if _ = unix.Getrlimit(unix.RLIMIT_CORE, &l); l.Max == 0 || strings.HasPrefix(string(pattern), "|") {
		return "this machine writes no dumps into the working folder"
	}
	return ""
}

func fewFiles() string {
	var l unix.Rlimit
	if _ = unix.Getrlimit(unix.RLIMIT_NOFILE, &l); l.Max <= 65536 {
		return fmt.Sprintf("the machine itself allows %d files only", l.Max)
	}
	return ""
}

func oneProcessor() string {
	var set unix.CPUSet
	if _ = unix.SchedGetaffinity(0, &set); set.Count() < 2 {
		return "there is one processor"
	}
	return ""
}

func noUnified() string {
	if _, err := openOneOf("/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"); err != nil {
		return "this machine has no control groups of version 2"
	}
	return ""
}

func openOneOf(names ...string) (int, error) {
	var last error
	for _, name := range names {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		last = err
	}
	return -1, last
}

func enter(name string, kind int) error {
	fd, err := unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, kind)
}

// writeMemory writes a byte of a process's memory, with the value that it already has.
func writeMemory(pid int) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x rw", &from, &to); n < 2 {
			continue
		}
		b := make([]byte, 1)
		if _, err := mem.ReadAt(b, int64(from)); err != nil {
			return err
		}
		_, err := mem.WriteAt(b, int64(from))
		return err
	}
	return errors.New("nothing to write to")
}

// denied runs a program that the settings deny, each time in a different way.
func denied() []attempt {
	const it = "/usr/bin/shred"
	ways := []struct{ id, script string }{
		{"P36", `\shred --version || s'hre'd --version || $(echo shred) --version || ` + it + ` --version`},
		{"D01", `/proc/self/root` + it + ` --version`},
		{"D02", `echo c2hyZWQgLS12ZXJzaW9uCg== | base64 -d | sh`},
		{"D03", `python3 -c 'import subprocess, sys; sys.exit(subprocess.call(["shred", "--version"]))' || perl -e 'exit(system("shred", "--version") >> 8)'`},
		{"D04", `cp ` + it + ` "$WS/x" && "$WS/x" --version`},
		{"D05", `for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do [ -e $l ] && $l ` + it + ` --version && exit 0; done; exit 1`},
		{"D06", `ln ` + it + ` "$WS/y" 2>/dev/null && "$WS/y" --version || { ln -s ` + it + ` "$WS/z" && "$WS/z" --version; }`},
		{"D07", `printf '#!` + it + ` --version\n' >"$WS/s" && chmod +x "$WS/s" && "$WS/s"`},
		{"D08", `cat ` + it + ` >"$WS/w" && chmod +x "$WS/w" && "$WS/w" --version`},
		{"D09", `env -i PATH=/usr/bin:/bin sh -c 'exec shred --version'`},
		{"D10", `find /usr/bin -maxdepth 1 -name shred -exec {} --version \; | grep -q shred`},
	}
	list := []attempt{{id: "P34", what: "run a denied program from memory", inner: true, settings: denyShred, try: func(*outside) error {
		return fromMemory(it, "--version")
	}}}
	for _, w := range ways {
		list = append(list, attempt{id: w.id, what: "run a denied program: " + w.script, inner: true, settings: denyShred, script: w.script})
	}
	return list
}

func denyShred(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, DeniedCommands: []string{"shred"}}
}

// pretend leaves a process behind, and sends a false end message on every socket. If a receiver believes it,
// this process continues, too.
func pretend(p *outside) error {
	c := exec.Command("/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; echo x >survivor")
	c.Dir, c.SysProcAttr = p.WS, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	status := make([]byte, 8+unsafe.Sizeof(unix.Rusage{})) // as kernel's messageStatus
	status[0] = 'S'
	heard := false
	for fd := 3; fd < 64; fd++ {
		heard = unix.Sendto(fd, status, unix.MSG_DONTWAIT, nil) == nil || heard
	}
	if heard && appears(p.WS+"/go", 5*time.Second) {
		return os.WriteFile(p.WS+"/survivor", nil, 0o644)
	}
	return nil
}

// fromMemory runs a program that no longer has a name.
func fromMemory(name string, args ...string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return err
	}
	if n, err := io.Copy(os.NewFile(uintptr(fd), "x"), from); err != nil || n == 0 {
		return fmt.Errorf("%d bytes: %w", n, errors.Join(err, exec.ErrNotFound))
	}
	return syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), append([]string{name}, args...), nil)
}
