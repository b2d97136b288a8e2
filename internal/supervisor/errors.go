package supervisor

import (
	"errors"
	"fmt"
)

// The contracts of failures; test with errors.Is.
var (
	// ErrRunning: a process of that id runs already.
	ErrRunning = errors.New("a process of that id runs already")
	// ErrNotStarted: the program could not be started: it is not there, is no program,
	// its folder is not there. Nothing ran.
	ErrNotStarted = errors.New("not started")
	// ErrSpec: the spec is one that can never be started.
	ErrSpec = errors.New("cannot be started")
	// ErrLost: the connection ended before the process did. What the process did in the
	// end is unknown; it is being killed.
	ErrLost = errors.New("the connection to the container's supervisor was lost")
	// ErrProtocol: the other side is not a supervisor of this version.
	ErrProtocol = errors.New("not a supervisor of this version")
	// ErrIDUsed: the connection has started a process before.
	ErrIDUsed = errors.New("this connection has its process")
	// ErrRefused: the supervisor speaks to the host alone, and this was somebody else.
	ErrRefused = errors.New("the supervisor speaks to the host alone")
	// ErrUnsupported: this system cannot run a supervisor.
	ErrUnsupported = errors.New("a supervisor runs on Linux only")
)

// EnvError says that a variable must not be given to a process. It never has the value.
type EnvError struct {
	Name   string // as given, with what is no printable character escaped
	Reason string
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("environment variable %s: %s", e.Name, e.Reason)
}

// Is makes it an [ErrSpec].
func (e *EnvError) Is(target error) bool { return target == ErrSpec }
