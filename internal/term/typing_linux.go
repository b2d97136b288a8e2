package term

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// rawMode is the mode of a terminal in which [Typing] reads it. It is safe for concurrent use.
type rawMode struct {
	mu  sync.Mutex
	fd  int
	old *unix.Termios // nil if the terminal is as it was
}

// enter makes the terminal deliver every key at once, without echo.
func (m *rawMode) enter(f *os.File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old != nil {
		return nil
	}
	m.fd = int(f.Fd())
	old, err := unix.IoctlGetTermios(m.fd, unix.TCGETS)
	if err != nil {
		return err
	}
	raw := *old
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	raw.Cc[unix.VQUIT] = 0 // Ctrl-\ arrives as quitKey
	if err := unix.IoctlSetTermios(m.fd, unix.TCSETS, &raw); err != nil {
		return err
	}
	m.old = old
	return nil
}

// leave restores the terminal, unless another program has it.
func (m *rawMode) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old != nil && foregroundFD(m.fd) {
		_ = unix.IoctlSetTermios(m.fd, unix.TCSETS, m.old)
	}
	m.old = nil
}

// inForeground reports whether this process may read the terminal and set its modes. Without job
// control it may.
func inForeground(f *os.File) bool { return foregroundFD(int(f.Fd())) }

func foregroundFD(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// waitInput waits until the terminal has input or has ended. It returns false if the file is closed.
func waitInput(f *os.File) bool {
	for {
		fd := int(f.Fd())
		if fd < 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Second/time.Millisecond))
		if n > 0 || err != nil && err != unix.EINTR {
			return true
		}
	}
}

// suspends reports each Ctrl-Z instead of stopping the process, until done is called.
func suspends() (stops <-chan os.Signal, done func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGTSTP)
	return c, func() { signal.Stop(c) }
}

// stopSelf stops this process as SIGTSTP does by default, and returns when it continues. In a
// process group that no shell controls, nothing happens.
func stopSelf() {
	resumed, done := continued()
	defer done()
	signal.Reset(unix.SIGTSTP)
	_ = unix.Kill(unix.Getpid(), unix.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(foregroundCheck): // measured on the clock, which a stopped process does not see
	}
}

// quitKey is Ctrl-\.
const quitKey = 0x1c

func quitSelf() { _ = unix.Kill(unix.Getpid(), unix.SIGQUIT) }
