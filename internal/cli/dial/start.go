package dial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/procgroup"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// ExitIdle is how long a daemon that a command has started waits for its next use.
const ExitIdle = 30 * time.Minute

const (
	startTimeout = 20 * time.Second // until a started daemon must answer; it may have to migrate the store
	startPause   = 5 * time.Millisecond
)

// start starts a daemon and waits until it answers. If several programs start one at once, the lock
// of the home decides which of the daemons stays; all programs connect to that one. A daemon that this
// program does not use is killed: it would wait for the lock, and take it later.
func start(ctx context.Context, p *command.Program, home, store string) (d *client.Client, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the daemon did not answer within %v", startTimeout))
	defer cancel()
	child, err := spawn(p, home, store)
	if err != nil {
		return nil, startError(home, err)
	}
	defer func() {
		if err != nil || d.Info().PID != child.process.Pid {
			child.kill()
		}
	}()
	for {
		d, err := find(ctx, p, home)
		if !errors.Is(err, client.ErrNoDaemon) {
			return d, err
		}
		if child.over() { // it has failed, or another daemon has the lock
			if _, running, err := listen.State(home); err == nil && !running {
				if d, err := find(ctx, p, home); err == nil {
					return d, nil
				}
				return nil, startError(home, child.failure())
			}
		}
		if err := wait.Cause(ctx, startPause); err != nil {
			return nil, startError(home, err)
		}
	}
}

func startError(home string, err error) error {
	return &outcome.Failure{Message: "cannot start the daemon: " + err.Error(), Advice: "see " + listen.LogFile(home), Result: outcome.Failed, Cause: err}
}

// child is a process that becomes the daemon. It has a session of its own and no terminal, so it
// continues when the terminal of this program closes.
type child struct {
	process *os.Process
	log     string
	at      int64 // the size of the log before the start
	ended   chan struct{}
}

func spawn(p *command.Program, home, store string) (*child, error) {
	program, err := p.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(listen.Dir(home), 0o700); err != nil {
		return nil, err
	}
	c := &child{log: listen.LogFile(home), ended: make(chan struct{})}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if st, err := log.Stat(); err == nil {
		c.at = st.Size()
	}
	cmd := exec.Command(program)
	cmd.Args = []string{"holdfast", "daemon", "--exit-idle=" + ExitIdle.String(), "--log-file=" + c.log, "--log-format=json"}
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log // without Stdin, it reads from the null device
	cmd.Env = env.WithoutServiceVariables(p.Env)
	if store != "" { // not an argument: a URL can have a password
		cmd.Env = append(cmd.Env, "HOLDFAST_STORE="+store)
	}
	cmd.SysProcAttr = procgroup.NewGroup()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.process = cmd.Process
	go func() {
		defer close(c.ended)
		_ = cmd.Wait()
	}()
	return c, nil
}

func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (c *child) kill() {
	_ = c.process.Kill()
	<-c.ended
}

// failure returns the error that the process has printed.
func (c *child) failure() error {
	f, err := os.Open(c.log)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, c.at, 64<<10))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "holdfast: "); ok {
			return errors.New(text)
		}
	}
	return fmt.Errorf("the process has ended; its log is %s", filepath.Base(c.log))
}
