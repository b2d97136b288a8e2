package confine

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// End ends this process in the same way as a command ended: with the same status, or by the same
// signal. So a shell sees the same result. If that signal does not end this process, the status is
// 128 plus its number, as in shells.
func End(status syscall.WaitStatus) {
	if !status.Signaled() {
		os.Exit(status.ExitStatus())
	}
	sig := status.Signal()
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // a core dump would be of this process
	// Go handles each signal, which would not always end this process. This thread receives the
	// signal before the call returns.
	runtime.LockOSThread()
	var byDefault struct{ handler, flags, restorer, mask uint64 }
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	os.Exit(128 + int(sig))
}

func isTerminal(s any) bool {
	f, ok := s.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
