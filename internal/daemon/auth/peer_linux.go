package auth

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is the process that made a connection. A pidfd refers to the process, so that its pid
// cannot be reused meanwhile. The pidfd is -1 if the system does not support that.
type identity struct{ uid, pid, fd int }

func peerOf(raw syscall.RawConn) (identity, error) {
	id := identity{uid: -1, fd: -1}
	var failed error
	err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			failed = err
			return
		}
		id.uid, id.pid = int(cred.Uid), int(cred.Pid)
		if pidfd, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			id.fd = pidfd
			unix.CloseOnExec(pidfd)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return id, fmt.Errorf("identify the peer: %w", err)
	}
	return id, nil
}

// isAlive reports whether the process still exists.
func (id identity) isAlive() bool {
	if id.fd < 0 {
		return true // unknown
	}
	return unix.PidfdSendSignal(id.fd, 0, nil, 0) == nil
}

func (id identity) close() {
	if id.fd >= 0 {
		_ = unix.Close(id.fd)
	}
}
