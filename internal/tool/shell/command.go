package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/procgroup"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// command is a command line to run, or a program without a shell.
type command struct {
	program, line, dir string
	args               []string // of a program without a shell, starting with its name; line is empty
	variables          string   // a script that runs first
	env                []string
	limit, grace       time.Duration
	box                *sandbox.Sandbox // nil if the command is not confined
	clock              *clock           // of a confined command
}

// exitState describes how a command ended.
type exitState struct {
	code      int            // 128 + signal for a signal
	signal    syscall.Signal // that ended the shell, or 0
	timedOut  bool
	cancelled bool
	leftovers bool            // processes outlived the shell and were killed
	dir       string          // the shell's last directory, or "" if unknown
	report    *sandbox.Report // nil without a sandbox
	notes     []string        // about earlier runs of this call
	out       *output
}

// run starts the command and copies its output until the shell itself has ended. It does not wait
// for other processes that still have the pipe open.
func (c command) run(ctx context.Context, out *output, progress func([]byte)) (exitState, error) {
	if err := ctx.Err(); err != nil {
		return exitState{}, err
	}
	if c.box != nil {
		return c.runConfined(ctx, out, progress)
	}
	pipe, sink, err := openPipe()
	if err != nil {
		return exitState{}, err
	}
	defer pipe.Close()
	cmd := &exec.Cmd{
		Path: c.program, Dir: c.dir, Env: c.environ(),
		Stdout: sink, Stderr: sink, SysProcAttr: procgroup.NewGroup(),
	}
	where, line, err := c.followDir()
	if err != nil {
		return exitState{}, errors.Join(err, sink.Close())
	}
	defer where.close()
	cmd.Args, cmd.ExtraFiles = c.arguments(line), where.files()
	watch := newWatcher(cmd)
	err = cmd.Start()
	sink.Close()
	where.started()
	if err != nil {
		return exitState{}, err
	}

	k := &killer{grace: c.grace, signal: func(s syscall.Signal) error { return procgroup.Signal(cmd.Process, s) }}
	release := context.AfterFunc(ctx, func() { k.stop(byCancel) })
	var end exitState
	end.leftovers = watch.copy(cmd, pipe, k, c.limit, func(b []byte) {
		out.write(b)
		if progress != nil {
			progress(b)
		}
	})
	release()
	end.dir = where.read()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	end.settleStatus(status, k.why.Load())
	return end, nil
}

// arguments returns the arguments of the program, starting with the program's name, or the
// arguments of a shell.
func (c command) arguments(line string) []string {
	if c.args != nil {
		return c.args
	}
	return []string{c.program, "-c", line}
}

// shown returns the command as text for the user.
func (c command) shown() string {
	if c.args != nil {
		return shellparse.Canonical(c.args...)
	}
	return c.line
}

// settleStatus fills in how the shell ended.
func (e *exitState) settleStatus(status syscall.WaitStatus, why int32) {
	e.timedOut, e.cancelled = why == byTimeout, why == byCancel
	if e.timedOut || e.cancelled {
		e.leftovers = false // expected
	}
	e.code = status.ExitStatus()
	if status.Signaled() {
		e.signal = status.Signal()
		e.code = 128 + int(e.signal)
	}
}

// Reasons for stopping a command.
const (
	byTimeout int32 = iota + 1
	byCancel
)

// killer ends a command and its child processes. It first sends a signal and then kills them.
type killer struct {
	signal func(syscall.Signal) error // signals all of them
	grace  time.Duration
	why    atomic.Int32
	over   atomic.Bool // the shell was reaped; its process id may be reused
	timer  atomic.Pointer[time.Timer]
}

func (k *killer) stop(why int32) {
	if !k.why.CompareAndSwap(0, why) || k.over.Load() {
		return
	}
	for _, s := range termSignals {
		_ = k.signal(s)
	}
	k.timer.Store(time.AfterFunc(k.grace, func() {
		if !k.over.Load() {
			_ = k.signal(syscall.SIGKILL)
		}
	}))
}

// finish kills the processes that the shell left behind, and reports whether there were any.
func (k *killer) finish() bool {
	left := k.signal(syscall.SIGKILL) == nil
	k.end()
	return left
}

// end does the same as finish, for commands that cannot leave processes behind.
func (k *killer) end() {
	k.over.Store(true)
	if t := k.timer.Load(); t != nil {
		t.Stop()
	}
}

// dirFollower finds the directory in which a shell ended.
type dirFollower struct {
	pipe, sink *os.File
	number     int // number of the descriptor in the shell
}

// maxPath is the longest directory name that is accepted from a command.
const maxPath = 4096

// followDir makes the shell report its last directory on a separate descriptor. It uses an EXIT trap,
// and does so only if the command may change the directory. Other commands run unchanged, so that a
// shell can run its last command without a fork, in its own process.
func (c command) followDir() (*dirFollower, string, error) {
	if !canFollow || !mayChangeDir(c.line) {
		return nil, c.preamble() + c.line, nil
	}
	pipe, sink, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	number := 29 // scripts rarely use this number; sh accepts only one digit
	if !strings.HasSuffix(c.program, "bash") {
		number = 8
	}
	return &dirFollower{pipe, sink, number}, fmt.Sprintf("trap 'pwd -P >&%d' EXIT\n%s%s", number, c.preamble(), c.line), nil
}

// mayChangeDir reports whether a command line could change the directory. If a line hides a cd from
// this check, the change of directory is not noticed. This does no harm.
func mayChangeDir(line string) bool {
	for _, word := range []string{"cd", "pushd", "popd", "eval", "source", ". "} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

func (f *dirFollower) started() {
	if f != nil {
		f.sink.Close()
	}
}

func (f *dirFollower) close() {
	if f != nil {
		f.pipe.Close()
		f.sink.Close()
	}
}

// read returns the last reported line, without waiting.
func (f *dirFollower) read() string {
	if f == nil {
		return ""
	}
	raw, err := f.pipe.SyscallConn()
	if err != nil {
		return ""
	}
	buf := make([]byte, maxPath+1)
	n := 0
	err = raw.Read(func(fd uintptr) bool { n, _ = readNow(fd, buf); return true })
	if err != nil || n <= 0 || n > maxPath {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), "\n")
}
