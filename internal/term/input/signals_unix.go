//go:build unix

package input

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// watch reports a new size of the terminal and the end of a stop.
func watch() (signals <-chan os.Signal, done func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, unix.SIGWINCH, unix.SIGCONT)
	return c, func() { signal.Stop(c) }
}

func isContinue(s os.Signal) bool { return s == unix.SIGCONT }

// stopProcess stops the process group, so that the shell gets the terminal even from a pipeline.
func stopProcess() error { return unix.Kill(0, unix.SIGTSTP) }
