// Package command makes commands: a [Program] is one call of the command line, and a
// [Builder] declares the flags and arguments of one command.
//
//	func (c *listCmd) Declare(b *command.Builder) { b.Flag(&c.All, "all", "a", "", "List all.") }
//	func (c *listCmd) Run(ctx context.Context, p *command.Program) error { … }
//
//	p.Group("things", "List things.", p.Command(&listCmd{}, "list", "List things."))
//
// A group has its commands with Declare and Help in command.go. Run is in another file: no file
// that knows flags imports what does the work.
//
// It knows no command: those are in the packages of the command groups.
package command

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
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
	Clock  func() time.Time       // default time.Now

	// Managed is the administrator's settings file; default settings.DefaultManaged.
	// There is no variable for it: who may set one could do without those settings.
	Managed string

	// Executable is what the demo runs as its child; default os.Executable.
	Executable func() (string, error)

	CommandEnv []string // what commands of a run get as their environment; nil: that of this process

	Terminal *term.Terminal
	Out, Err *term.Printer // of Terminal
	JSON     bool          // errors are printed as JSON

	// Candidates returns the words that complete what was typed, by the kind of value. It is
	// set when a shell asks for them; store is the one that the command line names.
	Candidates func(ctx context.Context, kind, typed, store string) ([]string, cobra.ShellCompDirective)

	ExitStatus func(syscall.WaitStatus) // ends the process as a command of it ended
}

// SetDefaults sets what was left out.
func (p *Program) SetDefaults() {
	if p.Err != nil {
		return
	}
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
	if p.Clock == nil {
		p.Clock = time.Now
	}
	if p.Executable == nil {
		p.Executable = os.Executable
	}
	p.Terminal = term.New(p.Stdin, p.Stdout, p.Stderr, p.Getenv)
	p.Out, p.Err = p.Terminal.Out, p.Terminal.Err
}

// Getenv returns a variable of the environment, or "".
func (p *Program) Getenv(name string) string { return p.Environment().Lookup(name) }

// Home is HOLDFAST_HOME, or ~/.holdfast. It is made when it is first used.
func (p *Program) Home() (string, error) { return p.Environment().Home() }

// Folder makes a path that was given on the command line absolute.
func (p *Program) Folder(dir string) (string, error) { return p.Environment().Folder(dir) }

// ActorName is the name of who decides: the one given, or the account.
func (p *Program) ActorName(given string) string {
	return cmp.Or(given, p.Getenv("USER"), p.Getenv("LOGNAME"), "person")
}

// ReportedError is an outcome that has been told already, or that needs no words.
type ReportedError struct{ out outcome.Outcome }

func (e ReportedError) Error() string            { return e.out.Meaning }
func (e ReportedError) Outcome() outcome.Outcome { return e.out }

// End returns nil for OK and an [ReportedError] for any other outcome.
func End(o outcome.Outcome) error {
	if o == outcome.OK {
		return nil
	}
	return ReportedError{o}
}

// SignalError is the cause of a context that a signal ended.
type SignalError struct {
	Signal os.Signal
	By     outcome.Outcome
}

func (s SignalError) Error() string { return s.By.Meaning }

// Outcome is By.
func (s SignalError) Outcome() outcome.Outcome { return s.By }
