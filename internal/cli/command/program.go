// Package command builds the commands of the command line: a [Program] is one run of the
// program, and a [Builder] declares the flags and arguments of one command.
//
//	func (c *listCmd) Declare(b *command.Builder) { b.Flag(&c.All, "all", "a", "", "List all.") }
//	func (c *listCmd) Run(ctx context.Context, p *command.Program) error { … }
//
//	p.Group("things", "List things.", p.Command(&listCmd{}, "list", "List things."))
//
// In the package of a command group, the file command.go declares the commands and their help
// texts. Other files contain the code that runs the commands, so that no file that declares flags
// imports the packages that do the work.
//
// Package command itself contains no commands; they are in the packages of the command groups.
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

// Program is one run of the program. Args is required. The other fields have defaults: an empty
// environment, no input, and discarded output.
type Program struct {
	Args   []string // without the program's name
	Env    []string // "KEY=value", later ones win
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getwd  func() (string, error) // default os.Getwd
	Clock  func() time.Time       // default time.Now

	// Managed is the managed settings file; default settings.DefaultManaged. No environment
	// variable sets it: a user who can set a variable could otherwise bypass the managed settings.
	Managed string

	// Executable returns the path of the program that the demo starts as its child; default
	// os.Executable.
	Executable func() (string, error)

	CommandEnv []string // the environment of a run's commands; nil: this process's environment

	Terminal *term.Terminal
	Out, Err *term.Printer // of Terminal
	JSON     bool          // print errors as JSON

	// Candidates returns the completions of a word, by the kind of value. It is set when a shell
	// asks for completions; store is the value of --store on the command line.
	Candidates func(ctx context.Context, kind, typed, store string) ([]string, cobra.ShellCompDirective)

	ExitStatus func(syscall.WaitStatus) // ends the process with the exit status or the signal of its command
}

// SetDefaults sets the unset fields to their defaults.
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

// Home returns HOLDFAST_HOME, or ~/.holdfast. The folder is created on first use.
func (p *Program) Home() (string, error) { return p.Environment().Home() }

// Folder makes a folder path from the command line absolute.
func (p *Program) Folder(dir string) (string, error) { return p.Environment().Folder(dir) }

// ActorName returns the name that is recorded with a decision: the given name, or else the name of
// the user's account, or else "person".
func (p *Program) ActorName(given string) string {
	return cmp.Or(given, p.Getenv("USER"), p.Getenv("LOGNAME"), "person")
}

// ReportedError is an outcome for which no message is needed, or whose message was already printed.
type ReportedError struct{ out outcome.Outcome }

func (e ReportedError) Error() string            { return e.out.Meaning }
func (e ReportedError) Outcome() outcome.Outcome { return e.out }

// End returns nil for OK and a [ReportedError] for any other outcome.
func End(o outcome.Outcome) error {
	if o == outcome.OK {
		return nil
	}
	return ReportedError{o}
}

// SignalError is the cause of a context that a signal canceled.
type SignalError struct {
	Signal os.Signal
	By     outcome.Outcome
}

func (s SignalError) Error() string { return s.By.Meaning }

// Outcome is By.
func (s SignalError) Outcome() outcome.Outcome { return s.By }
