package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/sandbox"
)

const (
	shellPath = "/bin/bash"

	// grace is the time between SIGTERM and SIGKILL.
	grace = 400 * time.Millisecond
	// Limits on the stored output of a command, in bytes.
	maxStdout, maxStderr = 1 << 20, 64 << 10
	// asyncTimeout is the time limit of a detached command that sets none.
	asyncTimeout = 15 * time.Second
)

// job is one command to run.
type job struct {
	path     string
	args     []string // including the program's name
	env      []string
	dir      string
	in       []byte
	out      outputCapture
	errs     outputCapture
	box      *sandbox.Sandbox // nil if the command runs only in a process group
	confined bool             // true if box confines the command; false if box only keeps its processes together
}

// exitState is the exit state of a command.
type exitState struct {
	exit   int            // 128 + signal for a signal
	signal syscall.Signal // or 0
	report *sandbox.Report
}

// command runs one command and interprets its output.
func (c *Commands) command(ctx context.Context, d *Definition, in *Input) (RunResult, error) {
	j, notices, err := c.job(d, in)
	if err != nil {
		return RunResult{Notice: join(notices)}, err
	}
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	tied := context.AfterFunc(ctx, func() { cancel(ctx.Err()) })
	defer tied()
	done := make(chan error, 1)
	var end exitState
	go func() {
		var err error
		end, err = j.run(life)
		done <- err
	}()
	finish := func(err error) (RunResult, error) {
		defer cancel(nil)
		if why := context.Cause(life); why != nil {
			return RunResult{Notice: join(notices)}, endedEarly(why, d.Timeout)
		}
		if err != nil {
			return RunResult{Notice: join(notices)}, j.notStarted(err, &end)
		}
		r := outputParser{d: d, e: in.Event, j: j, end: &end, notices: notices}
		return r.parse()
	}
	select {
	case err := <-done:
		return finish(err)
	case limit := <-j.out.async:
		return c.detach(tied, cancel, limit, done, finish)
	}
}

// detach lets a detached command continue, with a time limit of its own. Its result is delivered
// later.
func (c *Commands) detach(tied func() bool, cancel context.CancelCauseFunc, limit time.Duration, done <-chan error, finish func(error) (RunResult, error)) (RunResult, error) {
	later := make(chan RunResult, 1)
	c.mu.Lock()
	if !tied() || c.closed { // another goroutine is already ending the command
		c.mu.Unlock()
		cancel(errRunnerClosed)
		return finish(<-done)
	}
	c.detached.Go(func() {
		over := context.AfterFunc(c.life, func() { cancel(errRunnerClosed) })
		defer over()
		timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
		a, err := finish(<-done)
		a.Err = err
		later <- a
		close(later)
	})
	c.mu.Unlock()
	return RunResult{Async: later, Stop: func() { cancel(context.Canceled) }}, nil
}

// job prepares a command.
func (c *Commands) job(d *Definition, in *Input) (j *job, notices []string, err error) {
	j = &job{dir: cmp.Or(in.Dir, in.CWD), out: outputCapture{max: maxStdout}, errs: outputCapture{max: maxStderr}}
	if j.dir == "" {
		j.dir = c.opt.Project
	}
	if info, err := os.Stat(j.dir); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("its working folder %q does not exist", j.dir)
	}
	if err := c.chooseSandbox(j, d.Sandbox); err != nil {
		return nil, nil, err
	}
	if j.in, err = in.wire(dialectOf(d)); err != nil {
		return nil, nil, fmt.Errorf("write its input: %w", err)
	}
	j.in = append(j.in, '\n')
	var vars map[string]string
	j.env, vars, notices = c.environ(d, in, j)
	j.path, j.args = shellPath, []string{"bash", "-c", d.Command}
	if d.Args != nil {
		j.path = substitute(d.Command, vars)
		j.args = []string{j.path}
		for _, a := range d.Args {
			j.args = append(j.args, substitute(a, vars))
		}
	}
	if dialectOf(d) == dialectClaude {
		j.out.async = make(chan time.Duration, 1)
	}
	return j, notices, nil
}

// chooseSandbox selects the sandbox of a command. a is the value of [Definition].Sandbox.
func (c *Commands) chooseSandbox(j *job, a string) error {
	switch a {
	case sandboxRead, "":
		j.box = c.opt.Read
	case sandboxWrite:
		j.box = c.opt.Write
	case sandboxOff:
	default:
		return fmt.Errorf("unknown sandbox value %q", a)
	}
	switch {
	case j.box != nil:
		j.confined = true
		return nil
	case a != sandboxOff && !c.opt.NoSandbox:
		return errors.New("the hook needs the sandbox, which is not available; hint: run holdfast doctor, or set \"sandbox\": \"off\" for this hook")
	}
	var err error
	j.box, err = c.openUnconfined()
	return err
}

// run runs the command. It returns when the command and everything that it started have ended.
func (j *job) run(ctx context.Context) (exitState, error) {
	if j.box == nil {
		return j.runInGroup(ctx)
	}
	cmd := j.box.Command(ctx, j.path)
	cmd.Args, cmd.Env, cmd.Dir = j.args, j.env, j.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(j.in), &j.out, &j.errs
	cmd.Cancel = func() error { return cmd.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	end := exitState{}
	if j.confined {
		end.report = cmd.Report()
	}
	state := cmd.State()
	if state == nil {
		return end, err
	}
	end.setStatus(state.Status)
	return end, nil
}

// setStatus records how the main process ended.
func (e *exitState) setStatus(status syscall.WaitStatus) {
	e.exit = status.ExitStatus()
	if status.Signaled() {
		e.signal = status.Signal()
		e.exit = 128 + int(e.signal)
	}
}

// endedEarly returns the failure of a command that was stopped.
func endedEarly(why error, limit time.Duration) error {
	switch {
	case errors.Is(why, context.DeadlineExceeded) && limit > 0:
		return fmt.Errorf("it did not end within %s: %w", limit, why)
	case errors.Is(why, context.DeadlineExceeded):
		return fmt.Errorf("it did not end in time: %w", why)
	}
	return fmt.Errorf("it was stopped: %w", why)
}

// notStarted returns the failure of a command that could not be started.
func (j *job) notStarted(err error, end *exitState) error {
	what := filepath.Base(j.path) + " could not be started"
	if end.report != nil && end.report.CouldNotStart != "" {
		return fmt.Errorf("%s: %s: %w", what, strings.TrimSpace(end.report.Text()), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func dialectOf(d *Definition) string {
	if d.Dialect == "" {
		return dialectClaude
	}
	return d.Dialect
}

func join(notices []string) string { return strings.Join(notices, "\n") }
