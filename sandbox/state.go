package sandbox

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// State describes how a command ended, like os.ProcessState.
type State struct {
	kernel.State
	pid int
}

// Pid returns the process id on the host.
func (s *State) Pid() int { return s.pid }

// Exited reports whether the command exited, rather than being ended by a signal.
func (s *State) Exited() bool { return s.Status.Exited() }

// ExitCode returns the exit status, or -1 if a signal ended the command.
func (s *State) ExitCode() int {
	if !s.Status.Exited() {
		return -1
	}
	return s.Status.ExitStatus()
}

// Success reports whether the command exited with status 0.
func (s *State) Success() bool { return s.Status.Exited() && s.Status.ExitStatus() == 0 }

// String returns "exit status 1" or "signal: killed".
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
