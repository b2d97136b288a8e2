package sandbox

import (
	"cmp"
	"context"
	"errors"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/confine"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func (c *execCmd) Run(ctx context.Context, p *command.Program) error {
	args, _ := confine.IsInvocation(p.Args)
	flags, err := confine.Parse(args)
	if err != nil {
		return execFailure(outcome.Invalid(err.Error(), execHelp))
	}
	call, err := newCall(p, flags)
	if err != nil {
		return execFailure(err)
	}
	// Signals are passed on to the command, which decides when it ends.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	status, err := call.Run(ctx)
	if err != nil {
		return execFailure(err)
	}
	if p.ExitStatus != nil {
		p.ExitStatus(status)
	}
	return commandEnd(status)
}

const execHelp = "see holdfast sandbox exec --help"

// newCall returns the call of package confine for this program.
func newCall(p *command.Program, f *confine.Flags) (*confine.Call, error) {
	dir, err := p.Getwd()
	if err != nil {
		return nil, err
	}
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return &confine.Call{
		Flags: f, Env: p.Env, Dir: dir, Home: home, User: p.UserHome(), Managed: p.Managed,
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
	}, nil
}

// commandEnd ends the program the way a shell reports the end of the command.
func commandEnd(s syscall.WaitStatus) error {
	code := s.ExitStatus()
	if s.Signaled() {
		code = 128 + int(s.Signal())
	}
	return command.End(outcome.Command(code))
}

// execFailure returns the error for a command that did not run, with the exit codes that env and
// timeout use.
func execFailure(err error) error {
	out := outcome.ExecFailed
	hint := outcome.Hint(err)
	if n, ok := errors.AsType[*confine.NotRun](err); ok {
		switch n.Kind {
		case confine.NotExecutable:
			out, hint = outcome.ExecDenied, cmp.Or(hint, "check that the file is executable and that the sandbox settings allow reading it")
		case confine.NotFound:
			out, hint = outcome.ExecMissing, cmp.Or(hint, "check the name and PATH")
		case confine.NotConfined:
		}
	}
	if hint == "" && out == outcome.ExecFailed {
		hint = "check what this machine supports: holdfast doctor"
	}
	return &outcome.Failure{Message: err.Error(), Advice: hint, Result: out, Cause: err}
}
