// Package cli is the holdfast program: its commands, and all that it prints.
//
//	Main ──os, signals──► Program ──parse──► one command per file ──► agent, session, …
//	                         │                     │
//	                         └── package term ◄────┘   (text, JSON, errors with hints)
//
// The program is a value, so that tests run it as it is:
//
//	p := cli.Program{Args: []string{"version"}, Stdout: &out, Stderr: &errs}
//	code := p.Run(ctx)
//
// Data goes to Stdout, everything else to Stderr. Whatever a model, a tool or a
// file says passes an escape filter (term.Escape) on its way to a terminal. Exit
// codes come from package outcome alone.
package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// Program is one call of the command line. Args is required; everything else
// has a working default: an empty environment, no input, output thrown away.
type Program struct {
	Args   []string // without the program's name
	Env    []string // "KEY=value", later ones win
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getwd  func() (string, error) // default os.Getwd
	Now    func() time.Time       // default time.Now

	// Managed is the administrator's settings file; default settings.DefaultManaged.
	// There is no variable for it: who may set one could do without those settings.
	Managed string

	// Executable is what the demo runs as its child; default os.Executable.
	Executable func() (string, error)

	environ []string // that commands get instead of this process's environment; nil: that

	term       *term.Terminal
	out, err   *term.Printer // of term
	json       bool          // errors are printed as JSON
	completing bool          // a shell asks how a word can go on

	end func(syscall.WaitStatus) // ends the process as a command of it ended
}

// Run runs the command and returns the exit code. When ctx ends, a running turn
// is interrupted and saved; [Stopped] as its cause says by which signal.
func (p *Program) Run(ctx context.Context) int {
	if p.err == nil {
		p.fill()
	}
	err := p.run(ctx)
	p.err.Stop()
	if err == nil {
		return outcome.OK.Exit
	}
	return p.fail(stopped(ctx, err))
}

func (p *Program) fill() {
	if p.Stdin == nil {
		p.Stdin = bytes.NewReader(nil)
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	if p.Getwd == nil {
		p.Getwd = os.Getwd
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Executable == nil {
		p.Executable = os.Executable
	}
	p.term = term.New(p.Stdin, p.Stdout, p.Stderr, p.env)
	p.out, p.err = p.term.Out, p.term.Err
}

func (p *Program) run(ctx context.Context) error {
	if text, ok := version.Answer(p.Args); ok {
		p.out.Text(text)
		return nil
	}
	return p.execute(ctx)
}

// env returns a variable of the environment, or "".
func (p *Program) env(name string) string { return p.environment().Get(name) }

// home is HOLDFAST_HOME, or ~/.holdfast. It is made when it is first used.
func (p *Program) home() (string, error) { return p.environment().Home() }

// folder makes a path that was given on the command line absolute.
func (p *Program) folder(dir string) (string, error) { return p.environment().Folder(dir) }

// ended is an outcome that has been told already, or that needs no words.
type ended struct{ out outcome.Outcome }

func (e ended) Error() string            { return e.out.Meaning }
func (e ended) Outcome() outcome.Outcome { return e.out }

// end returns nil for OK and an [ended] for any other outcome.
func end(o outcome.Outcome) error {
	if o == outcome.OK {
		return nil
	}
	return ended{o}
}

// Stopped is the cause of a context that a signal ended.
type Stopped struct {
	Signal os.Signal
	By     outcome.Outcome
}

func (s Stopped) Error() string { return s.By.Meaning }

// Outcome is By.
func (s Stopped) Outcome() outcome.Outcome { return s.By }

// stopped replaces what an ended context caused by why it ended.
func stopped(ctx context.Context, err error) error {
	if s, ok := errors.AsType[Stopped](context.Cause(ctx)); ok && outcome.Of(err) == outcome.Interrupted {
		return ended{s.By}
	}
	return err
}
