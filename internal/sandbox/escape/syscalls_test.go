//go:build linux

package escape

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a system call; nil means that it succeeded.
func call(nr uintptr, args ...uintptr) error {
	_, err := result(nr, args...)
	return err
}

// result makes a system call and returns its result.
func result(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return r, errno(e)
}

// permitted makes a call with arguments that cannot succeed. The attempt is stopped if the call is refused as
// such, and not for its arguments.
func permitted(nr uintptr, args ...uintptr) error {
	switch err := call(nr, args...); err { //nolint:errorlint // the number that the kernel said
	case unix.EPERM, unix.ENOSYS, unix.EACCES:
		return err
	default:
		return nil
	}
}

// cString returns a string for the kernel.
func cString(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

// kept prevents the collection of the strings passed to the kernel: a probe is short.
var kept []*byte

func ioctlByte(fd int, request uintptr, c *byte) error {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(c)))
	return errno(e)
}

// memoryOf reads the memory of another process in two ways.
func memoryOf(pid int, at uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	local := []unix.Iovec{{Base: &b[0], Len: uint64(size)}}
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	if err != nil {
		return nil, fmt.Errorf("process_vm_readv: %w", err)
	}
	return b[:n], nil
}

// inChild makes a system call that creates a process, which does nothing.
func inChild(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	pid, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if e == 0 && pid == 0 {
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	if e != 0 {
		return e
	}
	_, _ = unix.Wait4(int(pid), nil, 0, nil)
	return nil
}

// cloneArgs are clone3's.
type cloneArgs struct {
	flags, pidfd, childTid, parentTid, exitSignal, stack, stackSize, tls, setTid, setTidSize, cgroup uint64
}

func clone3(flags, cgroup uint64) error {
	a := &cloneArgs{flags: flags, exitSignal: uint64(unix.SIGCHLD), cgroup: cgroup}
	return inChild(unix.SYS_CLONE3, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))
}
