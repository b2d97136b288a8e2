package term

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// singleKeys reports whether a Style can give keys without Enter here.
const singleKeys = true

// rawKeys makes a Style give every key at once and echo none. Signals from
// the keyboard and the translation of output stay.
func rawKeys(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	raw := *old
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, old) }, nil
}

// continued tells when the program goes on after it was stopped, by Ctrl-Z and fg for example,
// until done is called.
func continued() (resumed <-chan os.Signal, done func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// flushInput throws away what the Style holds unread.
func flushInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
