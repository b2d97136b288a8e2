package auth

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is the process that made a connection.
type identity struct{ uid, pid int }

func peerOf(raw syscall.RawConn) (identity, error) {
	id := identity{uid: -1}
	var failed error
	err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			failed = err
			return
		}
		id.uid = int(cred.Uid)
		id.pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return id, fmt.Errorf("identify the peer: %w", err)
	}
	return id, nil
}

func (identity) isAlive() bool { return true }
func (identity) close()        {}

// stat describes a process.
func stat(pid int) (process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	at := k.Proc.P_starttime
	return process{parent: int(k.Eproc.Ppid), started: uint64(at.Sec)*1e6 + uint64(at.Usec)}, nil
}
