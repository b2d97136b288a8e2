package term

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// singleKeys reports whether a terminal can deliver keys without Enter on this system.
const singleKeys = true

// rawKeys makes a terminal deliver every key at once, without echo. Keys that send signals, such as
// Ctrl-C, keep working, and newlines in the output are still translated.
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

// continued reports each time the program continues after it was stopped, for example by Ctrl-Z and
// fg. It ends when done is called.
func continued() (resumed <-chan os.Signal, done func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// flushInput discards the terminal's unread input.
func flushInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
