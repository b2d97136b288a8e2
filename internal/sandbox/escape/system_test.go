//go:build linux

package escape

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls try system calls that no command needs.
var calls = []attempt{
	{id: "P14", what: "make a map for programs in the kernel (bpf)", root: true, inner: true, try: func(*outside) error {
		attr := [4]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}
		return call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), 16)
	}},
	{id: "P15", what: "measure with the kernel (perf_event_open)", root: true, inner: true, try: func(*outside) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},
	{id: "P18", what: "make readable memory executable (personality)", inner: true, try: func(*outside) error {
		return call(unix.SYS_PERSONALITY, 0x0400000|0x0040000)
	}},
	{id: "P20", what: "restart the machine, with a number that cannot work", root: true, inner: true, try: func(*outside) error {
		return permitted(unix.SYS_REBOOT, 1, 2, 3)
	}},
	{id: "P21", what: "name the machine", root: true, inner: true, try: func(*outside) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	}},
	{id: "P22", what: "set the clock", root: true, inner: true, try: func(*outside) error {
		_, err := unix.Adjtimex(&unix.Timex{Modes: 0x0100}) // ADJ_SETOFFSET, by nothing
		return err
	}},
	{id: "R32", what: "mount a folder from outside in the workspace, and write there", root: true, apart: true, script: `mkdir "$WS/m" && mount --bind "$OUT" "$WS/m" && echo x >>"$WS/m/file"`},
	{id: "R36", what: "copy the tree of mounts (open_tree)", root: true, inner: true, try: func(*outside) error {
		_, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE)
		return err
	}},
	{id: "R37", what: "make a file system (fsopen)", root: true, inner: true, try: func(*outside) error {
		_, err := unix.Fsopen("tmpfs", 0)
		return err
	}},
	{id: "R38", what: "change the root (pivot_root)", root: true, inner: true, apart: true, try: func(p *outside) error {
		_ = unix.Mount(p.WS, p.WS, "", unix.MS_BIND, "")
		if err := os.Chdir(p.WS); err != nil {
			return err
		}
		return unix.PivotRoot(".", ".")
	}},
	{id: "R39", what: "change the root and step out of it (chroot)", root: true, inner: true, try: func(p *outside) error {
		return unix.Chroot(p.WS)
	}},
	{id: "R42", what: "watch a whole file system (fanotify)", inner: true, try: func(*outside) error {
		_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, 0)
		return err
	}},
	{id: "N45", what: "make a ring for calls that no filter sees (io_uring)", inner: true, try: func(*outside) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])))
	}},

	{id: "S01", what: "handle page faults (userfaultfd)", inner: true, try: func(*outside) error { return call(unix.SYS_USERFAULTFD, 1) }},
	{id: "S02", what: "write the accounts of all processes to a file (acct)", root: true, inner: true, try: func(p *outside) error {
		return permitted(unix.SYS_ACCT, cString(p.Base+"/nowhere/acct"))
	}},
	{id: "S03", what: "use a file as swap", root: true, inner: true, try: func(p *outside) error {
		return permitted(unix.SYS_SWAPON, cString(p.Base+"/nowhere/swap"), 0)
	}},
	{id: "S04", what: "read the kernel's log with a call (syslog)", root: true, inner: true, try: func(*outside) error {
		b := make([]byte, 4096)
		return call(unix.SYS_SYSLOG, 3, uintptr(unsafe.Pointer(&b[0])), 4096)
	}},
	{id: "S05", what: "remove what hides a secret", script: `umount "$SECRET" 2>/dev/null; cat "$SECRET/key"`},
	{id: "S06", what: "make what is mounted read-only writable (mount)", try: func(p *outside) error {
		_ = unix.Mount("", p.Out, "", unix.MS_REMOUNT|unix.MS_BIND, "")
		_ = unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")
		return os.WriteFile(p.Out+"/file", []byte("x"), 0)
	}},
	{id: "S07", what: "make what is mounted read-only writable (mount_setattr)", try: func(p *outside) error {
		attr := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
		_ = unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, attr)
		return os.WriteFile(p.Out+"/file", []byte("x"), 0)
	}},
	{id: "S08", what: "mount a fresh /proc", root: true, apart: true, inner: true, script: `mkdir "$WS/p" && mount -t proc proc "$WS/p"`},
	{id: "S09", what: "take a file system for its settings (fspick)", root: true, inner: true, try: func(*outside) error {
		_, err := unix.Fspick(unix.AT_FDCWD, "/", 0)
		return err
	}},
	{id: "S10", what: "move a mount away", root: true, apart: true, inner: true, try: func(p *outside) error {
		if err := os.Mkdir(p.WS+"/p", 0o755); err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		_ = unix.Mount(p.WS+"/p", p.WS+"/p", "", unix.MS_BIND, "")
		return unix.MoveMount(unix.AT_FDCWD, p.WS+"/p", unix.AT_FDCWD, p.WS+"/sub", 0)
	}},
	{id: "S11", what: "use calls of 32 bits from a program of 64 (int 0x80)", inner: true, absent: notAMD64, try: func(p *outside) error {
		// getpid, number 20 of the old table; only an error matters
		return runCode(p.WS+"/int80", elf.EM_X86_64, []byte{
			0xb8, 20, 0, 0, 0, 0xcd, 0x80, // mov eax, 20; int 0x80
			0x85, 0xc0, 0x7e, 9, // test eax, eax; jle fail
			0x31, 0xff, 0xb8, 231, 0, 0, 0, 0x0f, 0x05, // xor edi, edi; mov eax, exit_group; syscall
			0xbf, 1, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05, // fail: mov edi, 1; …
		})
	}},
	{id: "S12", what: "run a program of 32 bits", inner: true, absent: notAMD64, try: func(p *outside) error {
		return runCode(p.WS+"/elf32", elf.EM_386, []byte{0x31, 0xdb, 0xb8, 1, 0, 0, 0, 0xcd, 0x80}) // xor ebx, ebx; mov eax, exit; int 0x80
	}},
	{id: "S13", what: "use the table of x32", inner: true, absent: noX32, try: func(*outside) error { return call(0x40000000 | unix.SYS_GETPID) }},
	{id: "S14", what: "make readable memory executable, with upper bits set", inner: true, try: func(*outside) error {
		return call(unix.SYS_PERSONALITY, 1<<32|0x0400000)
	}},
	{id: "S15", what: "ask the kernel for a file system's quota", root: true, inner: true, try: func(*outside) error {
		return permitted(unix.SYS_QUOTACTL, 0x800007<<8, cString("/nowhere"), 0, 0) // Q_GETQUOTA
	}},
	{id: "S16", what: "lock memory for all, and set the real-time policy", root: true, inner: true, try: func(*outside) error {
		p := struct{ priority int32 }{1}
		return call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&p)))
	}},
	{id: "S17", what: "make a namespace of time", inner: true, absent: lacks("unshare"), script: `unshare -UT true`},
}

func notAMD64() string {
	if runtime.GOARCH != "amd64" {
		return "there is no such call on " + runtime.GOARCH
	}
	if runtime.GOOS != "linux" {
		return "this is not Linux"
	}
	return ""
}

func noX32() string {
	if _, _, e := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); e != 0 {
		return "this kernel has no x32"
	}
	return ""
}

// runCode runs a few instructions as a separate program.
func runCode(name string, machine elf.Machine, code []byte) error {
	const at = 0x400000
	var b []byte
	order := binary.LittleEndian
	if machine == elf.EM_386 {
		b = append(b, "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
		b, _ = binary.Append(b, order, []uint16{2, uint16(machine)})
		b, _ = binary.Append(b, order, []uint32{1, at + 84, 52, 0, 0})
		b, _ = binary.Append(b, order, []uint16{52, 32, 1, 40, 0, 0})
		b, _ = binary.Append(b, order, []uint32{1, 0, at, at, uint32(84 + len(code)), uint32(84 + len(code)), 5, 4096})
	} else {
		b = append(b, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
		b, _ = binary.Append(b, order, []uint16{2, uint16(machine)})
		b, _ = binary.Append(b, order, uint32(1))
		b, _ = binary.Append(b, order, []uint64{at + 120, 64, 0})
		b, _ = binary.Append(b, order, uint32(0))
		b, _ = binary.Append(b, order, []uint16{64, 56, 1, 64, 0, 0})
		b, _ = binary.Append(b, order, []uint32{1, 5})
		b, _ = binary.Append(b, order, []uint64{0, at, at, uint64(120 + len(code)), uint64(120 + len(code)), 4096})
	}
	if err := os.WriteFile(name, append(b, code...), 0o755); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return exec.Command(name).Run()
}
