package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

func (c *execCmd) Run(ctx context.Context, p *command.Program) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return outcome.Invalid("no command given", "holdfast workspace exec "+term.Quote(c.Slug)+" -- COMMAND")
	}
	if c.Dir != "" && !strings.HasPrefix(c.Dir, "/") {
		return outcome.Invalid("--dir "+term.Quote(c.Dir)+" is not an absolute path", "use a path in the container; the project is "+workspace.WorkFolder)
	}
	if err := supervisor.CheckEnv(c.Env); err != nil {
		return outcome.Invalid("--env: "+err.Error(), "")
	}
	return c.withWorkspaces(p, func(w *workspace.Workspaces) error {
		o := workspace.ExecOptions{Args: command, Env: c.Env, Dir: c.Dir, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
		restore, err := c.terminal(p, &o)
		if err != nil {
			return err
		}
		exit, err := w.Exec(ctx, c.Slug, o)
		restore()
		return execEnd(exit, err)
	})
}

// terminal gives the command a terminal if this process has one. The returned function restores the
// terminal.
func (c *execCmd) terminal(p *command.Program, o *workspace.ExecOptions) (restore func(), err error) {
	restore = func() {}
	in, isFile := p.Stdin.(*os.File)
	if c.NoTTY || !isFile || !term.IsTerminal(in) || !p.Out.TTY {
		return restore, nil
	}
	fd := int(in.Fd())
	cols, rows, err := xterm.GetSize(fd)
	if err != nil {
		return restore, nil //nolint:nilerr // a terminal without a size is not used
	}
	old, err := xterm.MakeRaw(fd)
	if err != nil {
		return restore, err
	}
	sizes, stop := watchSize(fd)
	o.Terminal, o.Resize = &supervisor.Size{Rows: clampSize(rows), Cols: clampSize(cols)}, sizes
	if name := p.Getenv("TERM"); name != "" {
		o.Env = append([]string{"TERM=" + name}, o.Env...)
	}
	return func() {
		stop()
		_ = xterm.Restore(fd, old)
	}, nil
}

func clampSize(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }

// execEnd returns the error for the end of the command in the workspace. This process exits with
// the command's exit code.
func execEnd(exit supervisor.Exit, err error) error {
	switch {
	case errors.Is(err, supervisor.ErrNotStarted):
		return &outcome.Failure{Message: err.Error(), Advice: "check that the image has the program and the folder", Result: outcome.ExecMissing, Cause: err}
	case err != nil && !errors.Is(err, io.ErrClosedPipe):
		return err
	case exit.OOM:
		return workspace.Failure(exit)
	}
	return command.End(outcome.Command(exit.Code))
}
