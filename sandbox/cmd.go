package sandbox

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/sandbox/kernel"
)

// Cmd is a command that runs under a [Sandbox]. It is shaped like exec.Cmd: the
// fields mean the same, and so do Start, Wait, Run, Output and CombinedOutput.
type Cmd struct {
	Path   string
	Args   []string
	Env    []string // nil: what commands may know of ours, see [Environ]
	Dir    string   // "": the first folder
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	ExtraFiles []*os.File
	WaitDelay  time.Duration
	Err        error // why Path could not be found
	Terminal   bool  // keep the terminal: see [kernel.Attr]

	ctx     context.Context
	sandbox *Sandbox
}

// Command prepares a command in this sandbox.
func (s *Sandbox) Command(ctx context.Context, name string, arg ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, arg...), ctx: ctx, sandbox: s}
}

// Command prepares a command in a sandbox of its own, with these settings, and the
// current folder as its workspace.
func Command(ctx context.Context, s *Settings, name string, arg ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, arg...), ctx: ctx, Err: kernel.ErrUnsupported}
}
