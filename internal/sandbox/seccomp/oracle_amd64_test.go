//go:build linux

package seccomp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func oracleKnown(nr uint32) bool { return nr <= 336 || nr >= 424 }

var (
	archNever  = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM}
	archQuiet  = []uint32{unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS}
	archAbsent = []uint32{156, 174, 177, 178, 181, 182, 183, 184, 185, 214, 215, 236}
)

func archShape(nr uint32) (shape string, mode, flags int) {
	switch nr {
	case unix.SYS_CHMOD:
		return "chmod", 1, 0
	case unix.SYS_CREAT:
		return "creat", 1, 0
	case unix.SYS_MKDIR:
		return "mkdir", 0, 0
	case unix.SYS_OPEN:
		return "open", 2, 1
	case unix.SYS_MKNOD:
		return "mknod", 1, 0
	}
	return "", 0, 0
}

// foreignCall requests the process id through the 32-bit interface.
func foreignCall() int64 {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return -1 << 32
	}
	copy(code, []byte{
		0xb8, 20, 0, 0, 0, // mov eax, getpid
		0xcd, 0x80, // int 0x80
		0x48, 0x98, // cdqe: the result is an int
		0xc3, // ret
	})
	entry := &code[0]
	at := &entry
	return (*(*func() int64)(unsafe.Pointer(&at)))()
}

// archCalls are calls that only this processor has.
var archCalls = []realCall{
	{"chmod u+s", at(unix.SYS_CHMOD, wrong, 0o4755), none, unix.EPERM},
	{"creat of a setgid file", at(unix.SYS_CREAT, wrong, junk|0o2755), none, unix.EPERM},
	{"creat", at(unix.SYS_CREAT, wrong, 0o644), none, open},
	{"open of a setuid file", at(unix.SYS_OPEN, wrong, unix.O_CREAT, 0o4755), none, unix.EPERM},
	{"open", at(unix.SYS_OPEN, wrong, unix.O_WRONLY, 0o4755), none, open},
	{"mknod of a device", at(unix.SYS_MKNOD, wrong, unix.S_IFCHR|0o600, 0x103), none, unix.EPERM},
	{"x32 getpid", at(0x40000000 | unix.SYS_GETPID), none, unix.ENOSYS},
	{"x32 ptrace", at(0x40000000 | 521), none, unix.ENOSYS},
	{"_sysctl", at(unix.SYS__SYSCTL, wrong), none, unix.ENOSYS},
}
