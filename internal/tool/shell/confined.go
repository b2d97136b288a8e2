package shell

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// sink receives the output of a confined command, both streams in order.
type sink struct {
	out      *output
	progress func([]byte)
}

func (s *sink) Write(b []byte) (int, error) {
	s.out.write(b)
	if s.progress != nil {
		s.progress(b)
	}
	return len(b), nil
}

// runConfined runs the command in the sandbox. When the command ends, all its child processes are killed.
func (c command) runConfined(ctx context.Context, out *output, progress func([]byte)) (exitState, error) {
	where, line, err := c.followDir()
	if err != nil {
		return exitState{}, err
	}
	defer where.close()
	both := &sink{out: out, progress: progress}
	// The command must not end with ctx. The killer ends it, because the killer sends a signal
	// first.
	cmd := c.box.Command(context.WithoutCancel(ctx), c.program)
	cmd.Args = c.arguments(line)
	cmd.Dir, cmd.Env = c.dir, c.environ()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = both, both, where.files()
	if err := cmd.Start(); err != nil {
		return exitState{report: cmd.Report()}, err
	}
	k := &killer{grace: c.grace, signal: func(s syscall.Signal) error { return cmd.Signal(s) }}
	release := context.AfterFunc(ctx, func() { k.stop(byCancel) })
	c.clock.start(c.limit, func() { k.stop(byTimeout) })
	err = cmd.Wait()
	c.clock.stop()
	release()
	k.end()
	end := exitState{dir: where.read(), report: cmd.Report()}
	if err != nil && cmd.State() == nil {
		return end, err
	}
	end.settleStatus(cmd.State().Status, k.why.Load())
	if _, ended := errors.AsType[*sandbox.ExitError](err); err != nil && !ended && end.code == 0 {
		return end, err // the streams failed
	}
	return end, nil
}

// refused returns the accesses that the sandbox refused, for the reader of the result.
func (e *exitState) refused() []string {
	if e.report == nil {
		return nil
	}
	if text := strings.TrimSpace(e.report.Text()); text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}

// clock enforces the time limit of a command. The time limit is paused while the user is asked.
type clock struct {
	pauses chan pauseChange
	end    chan struct{}
}

type pauseChange struct{ on bool }

func newClock() *clock { return &clock{pauses: make(chan pauseChange), end: make(chan struct{})} }

func (c *clock) start(limit time.Duration, over func()) {
	go func() {
		left, since, asked := limit, time.Now(), 0
		t := time.NewTimer(left)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				over()
				<-c.end
				return
			case a := <-c.pauses:
				if a.on {
					if asked++; asked == 1 {
						t.Stop()
						left -= time.Since(since)
					}
				} else if asked--; asked == 0 {
					since = time.Now()
					t.Reset(max(left, 0))
				}
			case <-c.end:
				return
			}
		}
	}()
}

func (c *clock) stop() { close(c.end) }

// pause stops the clock until the returned function is called.
func (c *clock) pause() (resume func()) {
	c.setPaused(true)
	return func() { c.setPaused(false) }
}

func (c *clock) setPaused(on bool) {
	select {
	case c.pauses <- pauseChange{on}:
	case <-c.end:
	}
}

// environ returns the environment of the command with its current directory.
func (c command) environ() []string {
	env := append(slices.Clip(c.env), "PWD="+c.dir)
	if c.variables != "" {
		env = append(env, variablesName+"="+c.variables)
	}
	return env
}

// files returns the descriptors from number 3.
func (f *dirFollower) files() []*os.File {
	if f == nil {
		return nil
	}
	list := make([]*os.File, f.number-2)
	list[f.number-3] = f.sink
	return list
}
