//go:build linux

package escape

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// protected are the names in the workspace that no command may create or change.
var protected = []string{
	".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/modules/lib/hooks", ".git/modules/lib/config",
	".git/modules/lib/commondir",
	"sub/.git/hooks", "sub/.git/config", "sub/.git/commondir",
	".mcp.json", ".claude", ".vscode", ".idea", ".holdfast", ".githooks", "shared.gitconfig",
}

// snapshot describes everything that must stay unchanged.
func (f *fixture) snapshot() map[string]string {
	s := map[string]string{}
	for _, dir := range []string{f.Out, f.Secret, f.Home, f.State} {
		if !slices.Contains(f.box.Folders, dir) {
			f.describe(s, dir)
		}
	}
	for _, name := range protected {
		f.describe(s, filepath.Join(f.WS, name))
		if to, err := filepath.EvalSymlinks(filepath.Join(f.WS, name)); err == nil && to != filepath.Join(f.WS, name) {
			f.describe(s, to)
		}
	}
	_ = filepath.WalkDir(f.WS, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at is not there
		}
		if i, err := e.Info(); err == nil && (i.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeDevice) != 0 || strings.HasPrefix(e.Name(), "core")) {
			f.describe(s, name)
		}
		return nil
	})
	for _, name := range f.markers() {
		f.describe(s, name)
	}
	s["host name"], _ = os.Hostname()
	s["victim"] = f.victimState()
	return s
}

// describe adds the state of a file, and of those below it.
func (f *fixture) describe(s map[string]string, root string) {
	_ = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(name, &st) != nil {
			return nil //nolint:nilerr // what cannot be looked at is not there
		}
		text := fmt.Sprintf("mode %o owner %d:%d", st.Mode, st.Uid, st.Gid)
		if !strings.HasPrefix(name, f.WS) {
			text += fmt.Sprintf(" changed at %d links %d", st.Mtim.Nano(), st.Nlink)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, _ := os.ReadFile(name)
			sum := sha256.Sum256(b)
			text += fmt.Sprintf(" %d bytes %s", len(b), hex.EncodeToString(sum[:4]))
			text += " flags " + strconv.Itoa(fileFlags(name))
		case unix.S_IFLNK:
			to, _ := os.Readlink(name)
			text += " to " + to
		}
		names := make([]byte, 256)
		if n, err := unix.Llistxattr(name, names); err == nil && n > 0 {
			text += " attributes " + strings.ReplaceAll(string(names[:n]), "\x00", " ")
		}
		s[name] = text
		return nil
	})
}

// fileFlags returns the flags that lsattr shows.
func fileFlags(name string) int {
	file, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	flags, _ := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	return flags & 0xff
}

// markers are the places outside where an attempt would leave its mark.
func (f *fixture) markers() []string {
	var names []string
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/etc", "/etc/cron.d", "/run", "/dev", "/"} {
		names = append(names, filepath.Join(dir, f.Marker))
	}
	return names
}

// victimState returns the state of the victim, which must not change.
func (f *fixture) victimState() string {
	dir := "/proc/" + strconv.Itoa(f.Victim)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return "gone"
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	state := fields[0]
	if state != "Z" && state != "T" && state != "t" {
		state = "alive"
	}
	limits, _ := os.ReadFile(dir + "/limits")
	prio, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(f.Victim), 0)
	sum := sha256.Sum256(limits)
	affinity := unix.CPUSet{}
	_ = unix.SchedGetaffinity(f.Victim, &affinity)
	oom, _ := os.ReadFile(dir + "/oom_score_adj")
	return fmt.Sprintf("%s nice %s policy %s io %d limits %s cpus %d oom %s", state, fields[16], fields[38], prio,
		hex.EncodeToString(sum[:4]), affinity.Count(), strings.TrimSpace(string(oom)))
}

// addHarm records harm that a hook of the attempt saw.
func (f *fixture) addHarm(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seenHarm = append(f.seenHarm, fmt.Sprintf(format, args...))
}

// harm returns what a run changed outside.
func (f *fixture) harm(o *outcome) []string {
	var harm []string
	now := f.snapshot()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, there := f.before[name]; !there {
			harm = append(harm, name+" was made")
		} else if was != now[name] {
			harm = append(harm, fmt.Sprintf("%s was %s and is %s", name, was, now[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.before)) {
		if _, there := now[name]; !there {
			harm = append(harm, name+" is gone")
		}
	}
	if strings.Contains(o.out, f.token) {
		harm = append(harm, "the secret was shown")
	}
	f.mu.Lock()
	harm = append(harm, f.seenHarm...)
	f.mu.Unlock()
	return append(harm, f.services.heard(f)...)
}

// awaitHarm waits until the host has seen something, for a limited time. If it has nothing to check, it
// checks once.
func (f *fixture) awaitHarm(a *attempt, o *outcome) {
	for end := time.Now().Add(time.Second); ; time.Sleep(2 * time.Millisecond) {
		if o.harm = f.harm(o); len(o.harm) > 0 || o.killed || a.inner || o.code != 0 || time.Now().After(end) {
			return
		}
	}
}

// onlyInitsLeft reports whether all processes left by the run are inits. Such a process has reported that nothing
// else is left, and is about to end.
func (f *fixture) onlyInitsLeft() bool {
	list := f.processes()
	return len(list) > 0 && !slices.ContainsFunc(list, func(pid int) bool {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && len(line) > 0 && !bytes.HasPrefix(line, []byte("holdfast-init\x00"))
	})
}

// leftovers are the processes and mounts that the run left.
func (f *fixture) leftovers() []string {
	var left []string
	for end := time.Now().Add(2 * time.Second); f.onlyInitsLeft() && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
	}
	for _, pid := range f.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		left = append(left, fmt.Sprintf("process %d (%q) is left", pid, strings.ReplaceAll(string(line), "\x00", " ")))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if bytes.Contains(mounts, []byte(f.Base)) {
		left = append(left, "a mount is left")
	}
	names, _ := filepath.Glob("/sys/fs/cgroup/*/*holdfast*")
	deeper, _ := filepath.Glob("/sys/fs/cgroup/*holdfast*")
	for _, group := range slices.Concat(names, deeper) {
		procs, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		for line := range strings.Lines(string(procs)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && f.owns(pid) {
				left = append(left, group+" is left")
			}
		}
	}
	return left
}

// processes returns the processes of the run, except the victim.
func (f *fixture) processes() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && pid != f.Victim && pid != os.Getpid() && f.owns(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// owns reports whether a process belongs to the run: its environment or command line names the run.
func (f *fixture) owns(pid int) bool {
	for _, file := range []string{"environ", "cmdline"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err == nil && bytes.Contains(b, []byte(f.Base)) {
			return true
		}
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && strings.HasPrefix(cwd, f.Base)
}
