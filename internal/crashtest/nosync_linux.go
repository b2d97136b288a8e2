package crashtest

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignoreSync makes fsync, fdatasync, sync_file_range and msync of this process succeed without any
// effect until it ends: a seccomp filter returns error number 0 for them. It is used for the
// control of the power-cut trials.
func ignoreSync() error {
	const (
		loadNr = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // at offset 0 of seccomp_data
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
	)
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE, unix.SYS_MSYNC}
	filter := []unix.SockFilter{{Code: loadNr}}
	for i, nr := range calls {
		filter = append(filter, unix.SockFilter{Code: equal, K: nr, Jt: uint8(len(calls) - i)}) //nolint:gosec // at most 4
	}
	filter = append(filter,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // 7
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("crashtest: no_new_privs: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("crashtest: seccomp: %w", errno)
	}
	return nil
}
