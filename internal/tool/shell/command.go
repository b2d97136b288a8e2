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

// command is one command line to run, or a program without a shell.
type command struct {
	program, line, dir string
	args               []string // of a program without a shell, from its name on; line is empty
	variables          string   // a script that comes first
	env                []string
	limit, grace       time.Duration
	box                *sandbox.Sandbox // nil: nothing holds it
	clock              *clock           // of a confined command
}

// exitState says how it ended.
type exitState struct {
	code      int            // 128 + signal for a signal
	signal    syscall.Signal // that ended the shell, or 0
	timedOut  bool
	cancelled bool
	leftovers bool            // processes outlived the shell and were killed
	dir       string          // where the shell was in the end, or "" when that is not known
	report    *sandbox.Report // nil without a sandbox
	notes     []string        // about runs before this one
	out       *output
}

// run starts the command and copies its output until the shell itself is done.
// It does not wait for others that hold the pipe.
func (c command) run(ctx context.Context, out *output, progress func([]byte)) (exitState, error) {
	if err := ctx.Err(); err != nil {
		return exitState{}, err
	}
	if c.box != nil {
		return c.confined(ctx, out, progress)
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
	where, line, err := c.follow()
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

// arguments are those of the program, from its name on: its own, or a shell's.
func (c command) arguments(line string) []string {
	if c.args != nil {
		return c.args
	}
	return []string{c.program, "-c", line}
}

// shown is the command as a person reads it.
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

// Why a command was stopped.
const (
	byTimeout int32 = iota + 1
	byCancel
)

// killer ends a command and what it started: politely, then for good.
type killer struct {
	signal func(syscall.Signal) error // reaches them all
	grace  time.Duration
	why    atomic.Int32
	over   atomic.Bool // the shell was reaped; its number may mean others soon
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

// finish kills what the shell left behind and says whether there was anything.
func (k *killer) finish() bool {
	left := k.signal(syscall.SIGKILL) == nil
	k.end()
	return left
}

// end is finish where nothing can be left.
func (k *killer) end() {
	k.over.Store(true)
	if t := k.timer.Load(); t != nil {
		t.Stop()
	}
}

// dirFollower learns where a shell ends up.
type dirFollower struct {
	pipe, sink *os.File
	number     int // of the descriptor inside
}

// maxPath is the longest directory name that is taken from a command.
const maxPath = 4096

// follow makes the shell report its last directory, when the command may change
// it, on a descriptor of its own by a trap at its end. Other commands run as
// they are, so a shell can still become its last command without a fork.
func (c command) follow() (*dirFollower, string, error) {
	if !canFollow || !mayChangeDir(c.line) {
		return nil, c.first() + c.line, nil
	}
	pipe, sink, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	number := 29 // seldom used by scripts; sh reads one digit only
	if !strings.HasSuffix(c.program, "bash") {
		number = 8
	}
	return &dirFollower{pipe, sink, number}, fmt.Sprintf("trap 'pwd -P >&%d' EXIT\n%s%s", number, c.first(), c.line), nil
}

// mayChangeDir says whether a command line could change the directory. A line that
// hides it well is not followed; that harms nobody.
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

// read returns the last line reported, without waiting for one.
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
