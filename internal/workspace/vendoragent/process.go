package vendoragent

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Process is a guest's process in its container. Its methods may be called from any
// goroutine.
type Process interface {
	vendor.Process
	// Wait returns when the process has ended, or with an error when ctx ends or nothing
	// can be known of it.
	Wait(ctx context.Context) (Exit, error)
	// Kill ends the process and everything that it started.
	Kill(ctx context.Context) error
	// Close lets go of it; what still runs is killed.
	Close() error
}

// Spec is how a process is started.
type Spec struct {
	ID   string
	Args []string
	Env  []string // "NAME=value"; credentials are among them
	Dir  string   // in the container
}

// Exit is how a process ended.
type Exit struct {
	Code   int
	Signal string // that ended it, or ""
	OOM    bool   // the container ran out of memory, and the kernel chose this process
	Detail string // the same in words, with what it wrote last; "" leaves that to this package
	Err    error  // the same as an error that callers know, or nil
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
	return fmt.Sprintf("the agent ended with exit code %d in the middle of the turn", e.Code)
}
