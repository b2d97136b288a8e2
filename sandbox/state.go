package sandbox

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// State is how a command ended, shaped like os.ProcessState.
type State struct {
	kernel.State
	pid int
}

// Pid is the process id, as the host counted.
func (s *State) Pid() int { return s.pid }

// Exited reports whether the command ended by itself, and not by a signal.
func (s *State) Exited() bool { return s.Status.Exited() }

// ExitCode is the exit status, or -1 when a signal ended the command.
func (s *State) ExitCode() int {
	if !s.Status.Exited() {
		return -1
	}
	return s.Status.ExitStatus()
}

// Success reports whether the command ended with status 0.
func (s *State) Success() bool { return s.Status.Exited() && s.Status.ExitStatus() == 0 }

// String is "exit status 1" or "signal: killed".
func (s *State) String() string {
	if !s.Status.Signaled() {
		return fmt.Sprintf("exit status %d", s.Status.ExitStatus())
	}
	text := "signal: " + s.Status.Signal().String()
	if s.Status.CoreDump() {
		text += " (core dumped)"
	}
	return text
}
