package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// Cmd is a command that runs in a [Sandbox]. It is like exec.Cmd: the fields mean the same, and so do Start,
// Wait, Run, Output and CombinedOutput. A Cmd is used once. Its methods must be called from one goroutine,
// except [Cmd.Signal], [Cmd.Kill] and [Cmd.Pid], which are safe for concurrent use.
//
//	c := box.Command(ctx, "make", "test")
//	out, err := c.CombinedOutput()
//	if text := c.Report().Text(); text != "" { … } // what was refused, by which setting
//
// Wait returns when the command and all processes that it started have ended.
type Cmd struct {
	Path   string
	Args   []string
	Env    []string // nil means the filtered environment of this process, see [Sandbox.Environ]
	Dir    string   // "": the first folder
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	ExtraFiles []*os.File

	// Cancel is called when the context ends. If it is nil or fails, Kill is called.
	Cancel func() error
	// WaitDelay is how long the command may run after Cancel, and how long Wait waits for Stdin to be
	// read after the command has ended. 0: no limit.
	WaitDelay time.Duration

	Err              error // the reason why Path could not be found
	Terminal         bool  // true if the command keeps the terminal, see [kernelFields.Attr]
	PrivateLocalhost bool  // true if the command does not share its localhost with other commands of the sandbox

	// ReadStderr sends a Stderr that is a file through a pipe, so that [Report] can tell which errors
	// in it come from the sandbox. Other writers always use a pipe.
	ReadStderr bool

	ctx     context.Context
	sandbox *Sandbox

	streams        streams
	cancel         context.CancelFunc // cancels the proxy's approval requests
	watch          *watcher
	dir            string
	env            []string
	line           string // for ignoreViolations
	hostViolations func(output string) []Violation
	tried          *writeAttempts

	mu      sync.Mutex
	process *kernel.Process
	missed  syscall.Signal // received during a restart
	ended   bool
	state   *State
	report  *Report
}

// Command prepares a command in this sandbox. A name without a slash is looked up in the PATH that the
// command will have.
func (s *Sandbox) Command(ctx context.Context, name string, arg ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, arg...), ctx: ctx, sandbox: s}
}

// ExitError reports that a command did not exit with status 0.
type ExitError struct {
	*State
	Stderr []byte // the end of standard error, set by [Cmd.Output] if Cmd.Stderr was nil
}

func (e *ExitError) Error() string { return e.String() }

// Run starts the command and waits for it to end.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("sandbox: Stdout is already set")
	}
	var out bytes.Buffer
	c.Stdout = &out
	kept := &tail{}
	if c.Stderr == nil {
		c.Stderr = kept
	}
	err := c.Run()
	if e, ok := errors.AsType[*ExitError](err); ok {
		e.Stderr = bytes.Clone(kept.bytes())
	}
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns its standard output and standard error, interleaved.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("sandbox: Stdout or Stderr is already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Start starts the command. The caller must then call Wait.
func (c *Cmd) Start() error {
	if c.process != nil || c.ended {
		return errors.New("sandbox: the command was already started")
	}
	err := c.start()
	if err != nil {
		c.streams.abandon()
		c.report = c.notStarted(err)
		c.end()
		return err
	}
	return nil
}

func (c *Cmd) start() error {
	if c.ctx == nil {
		c.ctx = context.Background()
	}
	if c.Err != nil {
		return c.Err
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.sandbox == nil {
		return errors.New("sandbox: the command was created without a sandbox; use Sandbox.Command")
	}
	attr, err := c.attr()
	if err != nil {
		return err
	}
	limits := c.sandbox.merged().Limits
	if attr.Files, err = c.streams.connect(c, limits.OutputBytes); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.cancel = cancel
	if attr.Serve, c.hostViolations, err = c.sandbox.serve(ctx, c.Args); err != nil {
		return err
	}
	p, err := c.sandbox.start(attr)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.process = p
	c.mu.Unlock()
	c.streams.started()
	c.watch = newWatcher(c, limits.WallTime)
	return nil
}

// attr returns the attributes for the kernel, without the streams.
func (c *Cmd) attr() (*kernel.Attr, error) {
	env, dir := c.Env, c.Dir
	if dir == "" {
		dir = c.sandbox.dir()
	}
	dir, err := realpath.Absolute(dir, c.sandbox.dir(), "")
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = append(c.sandbox.Environ(os.Environ()), "PWD="+dir)
	}
	path, err := lookPath(c.Path, dir, env)
	if err != nil {
		return nil, err
	}
	c.Path, c.dir, c.env = path, dir, env
	args := c.Args
	if len(args) == 0 {
		args = []string{path}
	}
	c.line = strings.Join(args, " ")
	c.tried = c.sandbox.newWriteAttempts()
	attr := &kernel.Attr{Path: path, Args: args, Dir: dir, Terminal: c.Terminal, PrivateLocalhost: c.PrivateLocalhost, OnWrite: c.tried.add}
	if attr.Env = env; !c.PrivateLocalhost && !c.sandbox.compiler.single {
		attr.Proxy, attr.Env = c.sandbox.ownProxy(env)
	}
	return attr, nil
}

// Wait waits until the command has ended and all output is copied. The error is an *[ExitError] if the
// command did not exit with 0, a *[kernelFields.StartError] if it could not be executed, and otherwise an
// error of the streams.
func (c *Cmd) Wait() error {
	if c.process == nil {
		return errors.New("sandbox: the command was not started")
	}
	if c.ended {
		return errors.New("sandbox: Wait was already called")
	}
	var (
		state                *kernel.State
		err, stopped, copied error
		wall                 bool
	)
	for began, tries := time.Now(), 1; ; tries++ {
		state, err = c.process.Wait()
		stopped, wall = c.watch.stop()
		copied = c.streams.wait(c.WaitDelay)
		if !isPathGone(err) || stopped != nil || wall || !retryStale(tries, began) || c.startAgain() != nil {
			break
		}
	}
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	if state != nil {
		c.state = &State{State: *state, pid: c.process.Pid()}
	}
	c.report = c.newReport(err, wall)
	c.sandbox.done(c.process)
	c.end()
	switch {
	case err != nil:
		return err
	case !c.state.Success():
		return &ExitError{State: c.state}
	case stopped != nil:
		return stopped
	}
	return copied
}

// startAgain starts the command again. The command must not have run anything yet.
func (c *Cmd) startAgain() error {
	if err := c.streams.rewind(); err != nil {
		return err
	}
	c.sandbox.done(c.process)
	c.sandbox.forceCheck()
	c.cancel()
	c.streams = streams{}
	if err := c.start(); err != nil {
		c.streams.abandon()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missed != 0 {
		_ = c.process.Signal(c.missed) // the command may have ended already
	}
	return nil
}

// end releases the resources of the command.
func (c *Cmd) end() {
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// State returns how the command ended; nil before Wait, and if it never ran.
func (c *Cmd) State() *State { return c.state }

// Report returns what the sandbox refused and how the command ended. It is nil before the command
// has ended.
func (c *Cmd) Report() *Report { return c.report }

// Refused counts the system calls that the sandbox has refused so far and that a setting can allow.
// The keys are the names of these settings, such as "network.allowUnixSockets". It can be called
// while the command runs.
func (c *Cmd) Refused() map[string]int {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		return nil
	}
	counts := map[string]int{}
	for _, r := range p.Refused() {
		if v := syscallViolation(r.Call); v.Setting != "" {
			counts[v.Setting] += r.Count
		}
	}
	return counts
}

// Pid returns the process id on the host, or 0 if there is none yet.
func (c *Cmd) Pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.Pid()
}

// Signal sends a signal to the command. After the command has ended it returns os.ErrProcessDone.
func (c *Cmd) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return errors.New("sandbox: unknown signal")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.process == nil:
		return errors.New("sandbox: the command was not started")
	case c.ended:
		return os.ErrProcessDone
	}
	err := c.process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		c.missed = s
	}
	return err
}

// Kill ends the command and every process that it started.
func (c *Cmd) Kill() error { return c.Signal(syscall.SIGKILL) }

// String returns the command line for display.
func (c *Cmd) String() string {
	return strings.Join(append([]string{c.Path}, c.Args[min(1, len(c.Args)):]...), " ")
}
