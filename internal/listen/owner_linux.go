package listen

import "syscall"

// ownerOnly restricts an unbound socket to its owner. Linux gives the file of a socket the mode of
// the socket. The umask would do that too, but it would also affect every other file that the
// process creates meanwhile.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0o600) }); e != nil {
		return e
	}
	return err
}
