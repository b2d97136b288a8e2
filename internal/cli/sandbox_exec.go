package cli

import (
	"cmp"
	"context"
	"errors"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/confine"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// sandboxExecCmd is `holdfast sandbox exec`. The program runs it by package
// confine before this package has started; here are its help and its errors.
type sandboxExecCmd struct{ confine.Flags }

func (c *sandboxExecCmd) declare(b *builder) {
	b.flag(&c.Settings, "settings", "", "FILE|JSON", "Hold to these settings alone: a settings file, or its sandbox block. Default: those of the folder and the user.")
	b.flag(&c.Write, "write", "", "PATH", "Only this tree may be written, and /tmp; may be repeated. Default: the current folder.")
	b.flag(&c.Read, "read", "", "PATH", "Only this tree may be read, and what programs need to start; may be repeated. Default: everything but secrets.")
	b.flag(&c.Deny, "deny", "", "PATH", "This tree may not be read or written; may be repeated.")
	b.flag(&c.AllowDomain, "allow-domain", "", "HOST", "This host may be reached, by the proxy: api.example.com, *.example.com; may be repeated. Default: none.")
	b.flag(&c.Env, "env", "", "NAME[=VALUE]", "The command gets this variable, too; may be repeated.")
	b.flag(&c.KeepEnv, "keep-env", "", "", "The command gets the whole environment, with keys and tokens.")
	b.flag(&c.CWD, "cwd", "", "FOLDER", "Where the command starts; default the current folder.")
	b.flag(&c.JSONReport, "json-report", "", "FILE|FD", "Write how it ended and what was refused there, as JSON: a file, or the number of an open descriptor.")
	b.flag(&c.Quiet, "quiet", "", "", "Do not report what was refused.")
	b.verbatim, b.refused = true, execFailure
	b.arg(&c.Command, "command", "The program and its arguments. Put -- before it.")
}

func (c *sandboxExecCmd) run(ctx context.Context, p *Program) error {
	args, _ := confine.Asked(p.Args)
	flags, err := confine.Parse(args)
	if err != nil {
		return execFailure(usage(err.Error(), execHelp))
	}
	call, err := p.call(flags)
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
	if p.end != nil {
		p.end(status)
	}
	return commandEnd(status)
}

const execHelp = "holdfast sandbox exec --help"

// call is a call of package confine by this program.
func (p *Program) call(f *confine.Flags) (*confine.Call, error) {
	dir, err := p.Getwd()
	if err != nil {
		return nil, err
	}
	home, err := p.home()
	if err != nil {
		return nil, err
	}
	return &confine.Call{
		Flags: f, Env: p.Env, Dir: dir, Home: home, User: p.userHome(), Managed: p.Managed,
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
	}, nil
}

// commandEnd ends the program as a shell would say that the command ended.
func commandEnd(s syscall.WaitStatus) error {
	code := s.ExitStatus()
	if s.Signaled() {
		code = 128 + int(s.Signal())
	}
	return end(outcome.Command(code))
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
	return &failure{msg: err.Error(), hint: hint, out: out, err: err}
}
