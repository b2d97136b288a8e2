package hook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/procgroup"
)

// runInGroup runs the command in its own process group, without a namespace. When the main process
// ends, the rest of the group is killed.
func (j *job) runInGroup(ctx context.Context) (exitState, error) {
	path, err := exec.LookPath(j.path)
	if err != nil {
		return exitState{}, err
	}
	var parentEnds, childEnds []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(parentEnds, childEnds...))
			return exitState{}, err
		}
		if len(parentEnds) == 0 {
			r, w = w, r // the command reads from the first pipe
		}
		parentEnds, childEnds = append(parentEnds, r), append(childEnds, w)
	}
	cmd := &exec.Cmd{
		Path: path, Args: j.args, Env: j.env, Dir: j.dir, SysProcAttr: procgroup.NewGroup(),
		Stdin: childEnds[0], Stdout: childEnds[1], Stderr: childEnds[2],
	}
	err = cmd.Start()
	closeAll(childEnds)
	if err != nil {
		closeAll(parentEnds)
		return exitState{}, err
	}
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = io.Copy(parentEnds[0], bytes.NewReader(j.in)) // the command may end before it has read all its input
		_ = parentEnds[0].Close()
	})
	copies.Go(func() { _, _ = io.Copy(&j.out, parentEnds[1]) })
	copies.Go(func() { _, _ = io.Copy(&j.errs, parentEnds[2]) })
	end := exitState{}
	state, err := waitGroup(ctx, cmd)
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		end.setStatus(status)
	}
	waitOutput(&copies, func() { closeAll(parentEnds) })
	return end, err
}

// waitGroup waits for the main process, and then kills the rest of the group. When ctx ends, the
// group gets SIGTERM, and SIGKILL after the time grace.
func waitGroup(ctx context.Context, cmd *exec.Cmd) (*os.ProcessState, error) {
	var mu sync.Mutex
	over := false
	signal := func(s syscall.Signal) {
		mu.Lock()
		defer mu.Unlock()
		if !over { // after that, the process id may belong to another process
			_ = procgroup.Signal(cmd.Process, s)
		}
	}
	var timer *time.Timer
	ended := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(ended)
		signal(syscall.SIGTERM)
		timer = time.AfterFunc(grace, func() { signal(syscall.SIGKILL) })
	})
	err := cmd.Wait()
	signal(syscall.SIGKILL)
	mu.Lock()
	over = true
	mu.Unlock()
	if !release() {
		<-ended
		timer.Stop()
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		err = nil // the state contains the error
	}
	return cmd.ProcessState, err
}

// waitOutput waits for the output of a command whose group has ended. It waits at most grace/2,
// because processes that left the group may still hold the pipes open.
func waitOutput(copies *sync.WaitGroup, giveUp func()) {
	timer := time.AfterFunc(grace/2, giveUp)
	copies.Wait()
	if timer.Stop() {
		giveUp()
	}
}
