//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package redis

import (
	"net"
	"syscall"
)

// isAlive reports whether an idle connection is still open and has no unread data. It cannot see data
// inside of a TLS connection.
func isAlive(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	})
	return err == nil && quiet
}
