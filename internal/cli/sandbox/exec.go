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

// execCmd is `holdfast sandbox exec`. The program runs it by package
// confine before this package has started; here are its help and its errors.
type execCmd struct{ confine.Flags }

func (c *execCmd) Declare(b *command.Builder) {
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Hold to these settings alone: a settings file, or its sandbox block. Default: those of the folder and the user.")
	b.Flag(&c.Write, "write", "", "PATH", "Only this tree may be written, and /tmp; may be repeated. Default: the current folder.")
	b.Flag(&c.Read, "read", "", "PATH", "Only this tree may be read, and what programs need to start; may be repeated. Default: everything but secrets.")
	b.Flag(&c.Deny, "deny", "", "PATH", "This tree may not be read or written; may be repeated.")
	b.Flag(&c.AllowDomain, "allow-domain", "", "HOST", "This host may be reached, by the proxy: api.example.com, *.example.com; may be repeated. Default: none.")
	b.Flag(&c.Env, "env", "", "NAME[=VALUE]", "The command gets this variable, too; may be repeated.")
	b.Flag(&c.KeepEnv, "keep-env", "", "", "The command gets the whole environment, with keys and tokens.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Where the command starts; default the current folder.")
	b.Flag(&c.JSONReport, "json-report", "", "FILE|FD", "Write how it ended and what was refused there, as JSON: a file, or the number of an open descriptor.")
	b.Flag(&c.Quiet, "quiet", "", "", "Do not report what was refused.")
	b.Verbatim, b.Refused = true, execFailure
	b.Arg(&c.Command, "command", "The program and its arguments. Put -- before it.")
}

func (c *execCmd) Run(ctx context.Context, p *command.Program) error {
	args, _ := confine.Asked(p.Args)
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
	if p.EndAs != nil {
		p.EndAs(status)
	}
	return commandEnd(status)
}

const execHelp = "holdfast sandbox exec --help"

// newCall is a call of package confine by this program.
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

// commandEnd ends the program as a shell would say that the command ended.
func commandEnd(s syscall.WaitStatus) error {
	code := s.ExitStatus()
	if s.Signaled() {
		code = 128 + int(s.Signal())
	}
	return command.End(outcome.Command(code))
}

// execFailure gives a command that did not run the exit codes that env and timeout
// have for it.
func execFailure(err error) error {
	out := outcome.ExecFailed
	hint := outcome.Hint(err)
	if n, ok := errors.AsType[*confine.NotRun](err); ok {
		switch n.Kind {
		case confine.NotExecutable:
			out, hint = outcome.ExecDenied, cmp.Or(hint, "a program has the mode to be executed, and lies where the settings let it be read")
		case confine.NotFound:
			out, hint = outcome.ExecMissing, cmp.Or(hint, "check the name, and PATH")
		case confine.NotConfined:
		}
	}
	if hint == "" && out == outcome.ExecFailed {
		hint = "holdfast doctor says what this machine can do"
	}
	return &outcome.Failure{Message: err.Error(), Advice: hint, Result: out, Cause: err}
}
