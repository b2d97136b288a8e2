package term

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// rawMode is the mode of a terminal while [Typing] reads it. It is safe for concurrent use.
type rawMode struct {
	mu  sync.Mutex
	tty *os.File
	old *unix.Termios // nil if the terminal is as it was
}

// enter makes the terminal deliver every key at once, without echo. If lines is true, the terminal
// echoes and delivers whole lines, and Ctrl-D does not end the input.
func (m *rawMode) enter(f *os.File, lines bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tty = f
	fd := int(f.Fd())
	old := m.old
	if old == nil {
		var err error
		if old, err = unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return err
		}
	}
	raw := *old
	if lines {
		raw.Cc[unix.VEOF] = 0
	} else {
		raw.Lflag &^= unix.ICANON | unix.ECHO
		raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
		raw.Cc[unix.VQUIT], raw.Cc[unix.VSUSP] = 0, 0 // they arrive as keys, so that the terminal is restored first
	}
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return err
	}
	m.old = old
	return nil
}

// leave restores the terminal, unless another program has it.
func (m *rawMode) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old != nil && inForeground(m.tty) {
		_ = unix.IoctlSetTermios(int(m.tty.Fd()), unix.TCSETS, m.old)
	}
	m.old = nil
}

// inForeground reports whether this process may read the terminal and set its modes. Without job
// control it may.
func inForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// unread returns how many bytes of input a terminal has.
func unread(f *os.File) int {
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
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

// stopSelf stops the process group as Ctrl-Z does, and returns when it continues. A group that no
// shell controls is not stopped. The runtime never installs a handler for SIGTSTP: after
// signal.Notify the signal would no longer stop the process.
func stopSelf() {
	resumed, done := continued()
	defer done()
	_ = unix.Kill(0, unix.SIGTSTP)
	select {
	case <-resumed:
	case <-time.After(foregroundCheck):
	}
}

func quitSelf() { _ = unix.Kill(0, unix.SIGQUIT) }
