package listen

import "syscall"

// ownerOnly lets only the owner access a socket. The socket must not be bound yet. Linux gives the
// file of a socket the mode of the socket. The umask would have the same effect, but also on every
// other file that the process creates at the same time.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0o600) }); e != nil {
		return e
	}
	return err
}
