package listen

import "syscall"

// ownerOnly makes a socket that is not bound yet one that only its owner may connect to. Linux
// gives the file of a socket the mode that the socket has. The process's mask would do it too,
// but every file that the process makes meanwhile would be closed as well.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0o600) }); e != nil {
		return e
	}
	return err
}
