//go:build linux

package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// writes try to change files outside of the workspace.
var writes = []attempt{
	{id: "W03", what: "write beside the workspace with ..", script: `cd "$WS" && echo x >>../outside/file`},
	{id: "W07", what: "write beside the workspace by /proc/self/cwd", script: `cd "$WS" && echo x >>/proc/self/cwd/../outside/file`},
	{id: "W08", what: "write by the root of process 1", root: true, absent: cannotInspectInit, script: `echo x >>"/proc/1/root$OUT/file"`},
	{id: "W09", what: "write by the root of the parent", script: `echo x >>"/proc/$PPID/root$OUT/file"`},
	{id: "W10", what: "write from a folder that the parent left open", try: func(*outside) error {
		var last error
		for fd := 3; fd < 256; fd++ {
			file, err := unix.Openat(fd, "../outside/file", unix.O_WRONLY|unix.O_APPEND, 0)
			if err == nil {
				_, err = unix.Write(file, []byte("x"))
				return err
			}
			last = err
		}
		return last
	}},
	{id: "W12", what: "move a file from outside into the workspace", try: func(p *outside) error { return os.Rename(p.Out+"/file", p.WS+"/stolen") }},
	{id: "W13", what: "remove a file outside", try: func(p *outside) error { return unix.Unlink(p.Out + "/victim") }},
	{id: "W15", what: "empty a file that is opened for reading", try: func(p *outside) error { return opened(p.Out+"/file", unix.O_RDONLY|unix.O_TRUNC) }},
	{id: "W19", what: "set an attribute of a file outside", try: func(p *outside) error {
		return unix.Setxattr(p.Out+"/file", "user.pwn", []byte("x"), 0)
	}},
	{id: "W20", what: "make a folder outside", try: func(p *outside) error { return unix.Mkdir(p.Out+"/d", 0o755) }},
	{id: "W21", what: "make a link outside", try: func(p *outside) error { return unix.Symlink("/etc/passwd", p.Out+"/s") }},
	{id: "W22", what: "give a file of the workspace a name outside", try: func(p *outside) error { return unix.Link(p.WS+"/m2", p.Out+"/l") }},
	{id: "W23", what: "make a pipe outside", try: func(p *outside) error { return unix.Mkfifo(p.Out+"/ff", 0o644) }},
	{id: "W24", what: "write into /etc", root: true, script: `echo x >"/etc/$MARKER" || echo x >"/etc/cron.d/$MARKER"`},
	{id: "W25", what: "write start-up files of the home folder", script: `for f in .bashrc .profile .zshrc; do echo x >>"$REALHOME/$f" && ok=1; done; [ "$ok" ]`},
	{id: "W28", what: "leave a mark in /dev/shm", script: `echo x >"/dev/shm/$MARKER"`, private: true},
	{id: "W29", what: "read a disk", root: true, inner: true, absent: disk, try: func(*outside) error {
		return openedOne(unix.O_RDONLY, "/dev/vda", "/dev/sda", "/dev/nvme0n1")
	}},
	{id: "W30", what: "make a disk's device in the workspace and read it", root: true, try: func(p *outside) error {
		var st unix.Stat_t
		if err := unix.Stat("/", &st); err != nil {
			return err
		}
		if err := unix.Mknod(p.WS+"/blk", unix.S_IFBLK|0o666, int(st.Dev)); err != nil {
			return err
		}
		fmt.Println(opened(p.WS+"/blk", unix.O_RDONLY)) // the machine itself may deny root access to its disks
		return nil
	}},
	{id: "W31", what: "make a character device in the workspace and open it", root: true, try: func(p *outside) error {
		if err := unix.Mknod(p.WS+"/cnull", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			return err
		}
		return opened(p.WS+"/cnull", unix.O_WRONLY)
	}},
	{id: "W36", what: "say what the kernel runs when a control group ends", root: true, inner: true, absent: releaseAgent, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/sys/fs/cgroup/*/release_agent", "/sys/fs/cgroup/release_agent")
	}},

	{id: "B01", what: "change the mode of a file outside", try: func(p *outside) error { return unix.Chmod(p.Out+"/file", 0o777) }},
	{id: "B02", what: "change the mode of a file outside that is open for reading", try: withFile(func(fd int) error { return unix.Fchmod(fd, 0o777) })},
	{id: "B03", what: "change the owner of a file outside", root: true, try: func(p *outside) error { return unix.Chown(p.Out+"/file", 1, 1) }},
	{id: "B04", what: "change the times of a file outside", try: func(p *outside) error {
		return unix.UtimesNano(p.Out+"/file", []unix.Timespec{{Sec: 1}, {Sec: 1}})
	}},
	{id: "B05", what: "set an attribute by a descriptor for reading", try: withFile(func(fd int) error { return unix.Fsetxattr(fd, "user.pwn", []byte("x"), 0) })},
	{id: "B06", what: "set a flag of a file outside (chattr)", try: withFile(func(fd int) error {
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x80|0x80000)
	})},
	{id: "B07", what: "cut a file outside", try: func(p *outside) error { return unix.Truncate(p.Out+"/file", 0) }},
	{id: "B08", what: "open a file for reading, and again for writing by /proc/self/fd", try: withFile(func(fd int) error {
		return os.WriteFile(fmt.Sprintf("/proc/self/fd/%d", fd), []byte("x"), 0)
	})},
	{id: "B09", what: "exchange two names outside", try: func(p *outside) error {
		return unix.Renameat2(unix.AT_FDCWD, p.Out+"/file", unix.AT_FDCWD, p.Out+"/victim", unix.RENAME_EXCHANGE)
	}},
	{id: "B10", what: "make a file without a name outside, and give it one", try: func(p *outside) error { return nameless(p.Out, p.Out+"/new") }},
	{id: "B11", what: "make a file without a name inside, and give it a name outside", try: func(p *outside) error { return nameless(p.WS, p.Out+"/new") }},
	{id: "B12", what: "write outside through a link in the workspace", script: `ln -s "$OUT" "$WS/l" && echo x >"$WS/l/file"`},
	{id: "B13", what: "write outside through a link that an earlier command made", before: `ln -s "$OUT" "$WS/l"`, script: `echo x >"$WS/l/file"`},
	{
		id: "B14", what: "put a link in the place of a folder that may be written, for the next command",
		arrange:  func(t *testing.T, f *fixture) { f.put(t, f.WS+"/build/x", "") },
		settings: writeOnly("ws", "ws/build"), refused: true,
		before: `mv "$WS/build" "$WS/b"; ln -s "$OUT" "$WS/build"`, script: `echo x >"$WS/build/file"`,
	},
	{
		id: "B15", what: "write beside the only folder that may be written", settings: writeOnly("ws/sub"), folders: workspace,
		script: `echo x >"$WS/m2" && echo x >>"$OUT/file"`,
	},
	{id: "B16", what: "write to a file of a kernel setting (core_pattern)", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug")
	}},
	{id: "B17", what: "open what the kernel does on request (sysrq)", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/proc/sysrq-trigger", "/proc/sys/kernel/sysrq", "/proc/sys/vm/drop_caches")
	}},
	{id: "B18", what: "open settings of the host's network", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/core/somaxconn")
	}},
	{id: "B19", what: "write to the kernel's files in /sys", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state",
			"/sys/module/kernel/parameters/*", "/sys/block/*/uevent")
	}},
	{id: "B20", what: "leave the control group of the sandbox", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/sys/fs/cgroup/*/cgroup.procs", "/sys/fs/cgroup/cgroup.procs")
	}},
	{id: "B21", what: "loosen a limit of a control group", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_WRONLY, "/sys/fs/cgroup/pids/*/pids.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/*/notify_on_release", "/sys/fs/cgroup/*/memory.max")
	}},
	{id: "B22", what: "leave a mark in /tmp of the host", script: `echo x >"/tmp/$MARKER"`, private: true},
	{id: "B23", what: "leave a mark in /var/tmp of the host", script: `echo x >"/var/tmp/$MARKER"`, private: true},
	{id: "B24", what: "leave a mark in /run and /dev", root: true, script: `echo x >"/run/$MARKER" || echo x >"/dev/$MARKER"`, private: true},
	{id: "B25", what: "open devices of the kernel", root: true, inner: true, try: func(*outside) error {
		return openedOne(unix.O_RDWR, "/dev/fuse", "/dev/loop-control", "/dev/kvm", "/dev/net/tun", "/dev/vsock", "/dev/userfaultfd", "/dev/btrfs-control", "/dev/autofs")
	}},
	{id: "B26", what: "clone a file over one outside (FICLONE, copy_file_range)", try: func(p *outside) error {
		from, err := unix.Open(p.WS+"/m2", unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		to, err := unix.Open(p.Out+"/file", unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = unix.CopyFileRange(from, nil, to, nil, 5, 0)
		return err
	}},
	{id: "B27", what: "move the workspace itself", script: `mv "$WS" "$BASE/moved" && mkdir "$WS"`, after: func(_ *testing.T, f *fixture, _ *outcome) {
		if _, err := os.Stat(f.Base + "/moved"); err == nil {
			f.addHarm("the workspace was moved")
		}
	}},
	{id: "B28", what: "lower how likely the victim is spared when memory is short", try: func(p *outside) error {
		return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.Victim), []byte("500"), 0)
	}},
	{id: "B29", what: "make a folder outside through a folder of the workspace that is renamed meanwhile", script: `mkdir -p "$WS/a/b" && cd "$WS/a/b" && mkdir ../../../outside/made`},
	{id: "B30", what: "set an access list of a file outside", try: func(p *outside) error {
		acl := []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 4, 0, 255, 255, 255, 255, 32, 0, 6, 0, 255, 255, 255, 255}
		return unix.Setxattr(p.Out+"/file", "system.posix_acl_access", acl, 0)
	}},
	{id: "B31", what: "set a file outside with a new call (file_setattr)", inner: true, try: func(p *outside) error {
		var attr [24]byte
		return call(469, ^uintptr(99), cString(p.Out+"/file"), uintptr(unsafe.Pointer(&attr[0])), 24, 0)
	}},
}

// withFile passes the descriptor of a file outside that is open for reading.
func withFile(do func(fd int) error) func(*outside) error {
	return func(p *outside) error {
		fd, err := unix.Open(p.Out+"/file", unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		return do(fd)
	}
}

// nameless creates a file without a name in a folder and then links it to a name.
func nameless(dir, name string) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR, 0o755)
	if err != nil {
		return err
	}
	_, _ = unix.Write(fd, []byte("#!/bin/sh\n"))
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

func disk() string {
	if names, _ := filepath.Glob("/dev/[vs]da"); names == nil {
		return "this machine has no disk by a usual name"
	}
	if isRoot && openedOne(unix.O_RDONLY, "/dev/vda", "/dev/sda", "/dev/nvme0n1") != nil {
		return "this machine refuses root its disks"
	}
	return ""
}

// cannotInspectInit returns why process 1 cannot be inspected here.
func cannotInspectInit() string {
	if _, err := os.Stat("/proc/1/root/"); isRoot && err != nil {
		return "root may not look into process 1 of this machine"
	}
	return ""
}

func releaseAgent() string {
	if names, _ := filepath.Glob("/sys/fs/cgroup/*/release_agent"); names == nil {
		return "this machine has no control groups of version 1"
	}
	return ""
}

func workspace(f *fixture) []string { return []string{f.WS} }

// writeOnly makes only these folders writable.
func writeOnly(names ...string) func(*fixture) *sandbox.Settings {
	return func(f *fixture) *sandbox.Settings {
		s := &sandbox.Settings{DeniedPaths: []string{f.Secret}}
		for _, name := range names {
			s.AllowedWritePaths = append(s.AllowedWritePaths, filepath.Join(f.Base, name))
		}
		return s
	}
}
