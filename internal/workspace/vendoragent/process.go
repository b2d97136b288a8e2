package vendoragent

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Process is a vendor agent's process in its container. Its methods may be called from any goroutine.
type Process interface {
	vendor.Process
	// Wait returns when the process has ended. It returns an error when ctx ends, or if the state
	// of the process cannot be determined.
	Wait(ctx context.Context) (Exit, error)
	// Kill ends the process and all processes that it has started.
	Kill(ctx context.Context) error
	// Close releases the process. If the process still runs, it is killed.
	Close() error
}

// Spec says how to start a process.
type Spec struct {
	ID   string
	Args []string
	Env  []string // "NAME=value", including credentials
	Dir  string   // in the container
}

// Exit says how a process ended.
type Exit struct {
	Code   int
	Signal string // the signal that ended the process, or ""
	OOM    bool   // the container ran out of memory, and the kernel killed this process
	Detail string // why the process ended, with its last output; "" means this package's text
	Err    error  // why the process ended, as an error that callers can compare, or nil
}

func (e Exit) String() string {
	switch {
	case e.Detail != "":
		return e.Detail
	case e.OOM:
		return "the agent was killed because the container ran out of memory"
	case e.Signal != "":
		return "the agent was ended by " + e.Signal
	}
	return fmt.Sprintf("the agent ended with exit code %d during the turn", e.Code)
}
