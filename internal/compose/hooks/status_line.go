package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/procgroup"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Limits of the command of a status line.
const (
	statusTimeout = 2 * time.Second
	statusOutput  = 16 << 10 // bytes that are kept
)

// StatusLine runs the command of the settings' status line in a sandbox like that of a hook with
// "sandbox": "read". Only one goroutine uses it.
type StatusLine struct {
	need  *Options
	hooks Hooks            // owns the sandbox and its /tmp
	box   *sandbox.Sandbox // nil: only a process group
	env   []string
}

// OpenStatusLine opens the sandbox of the status line. The caller closes it. Without a sandbox, a
// command that the project's folder names is refused, because the agent can change what it runs.
func OpenStatusLine(need *Options) (s *StatusLine, err error) {
	s = &StatusLine{need: need, env: environ.ForSandbox(need.Env.Vars)}
	if need.NoSandbox {
		if need.Settings.StatusLine.InFolder() {
			return nil, outcome.Invalid("the status line of the project needs the sandbox", "write the status line into your own settings")
		}
		if s.box, err = sandbox.Open(nil, &sandbox.OpenOptions{NoConfinement: true}); err != nil {
			s.box = nil // the process group is used
		} else {
			s.hooks.sandboxes = append(s.hooks.sandboxes, s.box)
		}
		return s, nil
	}
	if s.hooks.scratch, err = diskfile.OpenScratch(need.Env.Lookup("TMPDIR"), "holdfast-status-", os.RemoveAll); err != nil {
		return nil, fmt.Errorf("temporary folder of the status line: %w", err)
	}
	s.hooks.temp = settings.Resolve(s.hooks.scratch.Path)
	if s.box, err = s.hooks.sandboxFor(need, false); err != nil {
		s.Close()
		return nil, err
	}
	s.env = s.box.Environ(need.Env.Vars)
	return s, nil
}

// Run runs the command once and returns what it prints, which is untrusted. columns is the width of
// the terminal.
func (s *StatusLine) Run(ctx context.Context, input []byte, columns int) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, statusTimeout, fmt.Errorf("it did not end within %s", statusTimeout))
	defer stop()
	var out, errs limited
	line := s.need.Settings.StatusLine.Command.Value
	env := append([]string(nil), s.env...)
	env = append(env, "CLAUDE_PROJECT_DIR="+s.need.Settings.Project, "COLUMNS="+strconv.Itoa(columns))
	var code int
	var err error
	if s.box == nil {
		code, err = s.inGroup(ctx, line, env, input, &out, &errs)
	} else {
		code, err = s.inBox(ctx, line, env, input, &out, &errs)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case code != 0:
		return "", fmt.Errorf("it ended with exit code %d: %s", code, term.OneLine(strings.TrimSpace(errs.String())))
	case strings.TrimSpace(out.String()) == "":
		return "", errors.New("it printed nothing")
	}
	return out.String(), nil
}

func (s *StatusLine) inBox(ctx context.Context, line string, env []string, input []byte, out, errs *limited) (int, error) {
	cmd := s.box.Command(ctx, shellPath, "-c", line)
	cmd.Env, cmd.Dir = env, s.need.Settings.Cwd()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, errs
	cmd.WaitDelay = statusTimeout / 10
	err := cmd.Run()
	if state := cmd.State(); state != nil {
		return state.Status.ExitStatus(), nil
	}
	return 0, err
}

// inGroup runs the command without a sandbox, for systems without namespaces.
func (s *StatusLine) inGroup(ctx context.Context, line string, env []string, input []byte, out, errs *limited) (int, error) {
	cmd := exec.CommandContext(ctx, shellPath, "-c", line)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, s.need.Settings.Cwd(), procgroup.NewGroup()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, errs
	cmd.Cancel = func() error { return procgroup.Signal(cmd.Process, syscall.SIGKILL) }
	cmd.WaitDelay = statusTimeout / 10
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

const shellPath = "/bin/bash"

// Close removes the sandbox and its files.
func (s *StatusLine) Close() { s.hooks.Close() }

// limited keeps the first part of an output.
type limited struct{ b bytes.Buffer } // not embedded: its ReadFrom would read without a limit

func (l *limited) Write(b []byte) (int, error) {
	l.b.Write(b[:min(len(b), statusOutput-l.b.Len())])
	return len(b), nil
}

func (l *limited) String() string { return l.b.String() }
