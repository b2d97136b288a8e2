package supervisor

import (
	"errors"
	"fmt"
)

// Errors of this package; test with errors.Is.
var (
	// ErrRunning means that a process with that id already runs.
	ErrRunning = errors.New("a process with that id already runs")
	// ErrNotStarted means that the program could not be started because it does not exist, is not a
	// program, or its folder does not exist. Nothing ran.
	ErrNotStarted = errors.New("not started")
	// ErrSpec means that the spec is invalid and can never be started.
	ErrSpec = errors.New("cannot be started")
	// ErrLost means that the connection ended before the process did. The process is being killed;
	// its outcome is unknown.
	ErrLost = errors.New("the connection to the container's supervisor was lost")
	// ErrProtocol means that the other side is not a supervisor of this version.
	ErrProtocol = errors.New("not a supervisor of this version")
	// ErrIDUsed means that the connection has already started a process.
	ErrIDUsed = errors.New("the connection already has a process")
	// ErrRefused means that the supervisor accepts only connections from the host.
	ErrRefused = errors.New("the supervisor accepts connections only from the host")
	// ErrUnsupported means that this operating system cannot run a supervisor.
	ErrUnsupported = errors.New("a supervisor runs only on Linux")
)

// EnvError reports a variable that must not be passed to a process. It never contains the value.
type EnvError struct {
	Name   string // name as given, with non-printable characters escaped
	Reason string
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("environment variable %s: %s", e.Name, e.Reason)
}

// Is reports whether target is [ErrSpec].
func (e *EnvError) Is(target error) bool { return target == ErrSpec }
