package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/holdfast-dev/holdfast/internal/demo"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/session"
)

const (
	watchPeriod = 15 * time.Millisecond
	// killDelay is the time for which the tests run before the process is killed, so that they are
	// half done.
	killDelay = 300 * time.Millisecond
)

// child is a second process of this program. It runs the agent and prints the run to Stdout.
func (s *demoRun) child(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{
		"run", "--model", "scripted/" + s.play, "--cwd", s.project, "--store", "sqlite:" + s.db,
		"--permission-mode", "bypassPermissions",
	}, args...)
	cmd := exec.CommandContext(ctx, s.exe, args...)
	cmd.Env = append(append([]string{}, s.p.Env...), "HOLDFAST_HOME="+filepath.Join(s.dir, "home"), "HOLDFAST_MODEL=", "HOLDFAST_STORE=")
	cmd.Stdout, cmd.Stderr = s.p.Stdout, s.p.Stdout
	return cmd
}

// runUntilKilled runs the agent and kills it without warning while the tool call demo.KillAtUse is
// running. It reads the store to find out when that call has started.
func (s *demoRun) runUntilKilled(ctx context.Context) (pid int, err error) {
	cmd := s.child(ctx, "--session-id", demoSession, demo.Prompt)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the agent: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	watch, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan error, 1)
	go func() { seen <- s.withLog(watch, s.waitForStart) }()
	select {
	case err := <-exited:
		stop()
		<-seen //nolint:errcheck // the result of a stopped process
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, fmt.Errorf("the agent ended before it could be killed: %v", err) //nolint:errorlint // nil when the agent ended by itself
	case err := <-seen:
		if err == nil {
			err = wait.For(ctx, killDelay)
		}
		kerr := cmd.Process.Kill()
		<-exited //nolint:errcheck // the result of a killed process
		return cmd.Process.Pid, errors.Join(err, kerr)
	}
}

// waitForStart returns when the log contains the start of demo.KillAtUse.
func (s *demoRun) waitForStart(ctx context.Context, sessions *session.Sessions) error {
	for after := int64(0); ; {
		for r, err := range sessions.Records(ctx, demoSession, session.Range{After: after}) {
			if errors.Is(err, session.ErrNotFound) {
				break // the child has not created the session yet
			}
			if err != nil {
				return err
			}
			after = r.Seq
			if use, ok := startOf(r); ok && use == demo.KillAtUse {
				return nil
			}
		}
		if err := wait.For(ctx, watchPeriod); err != nil {
			return err
		}
	}
}

// startOf returns the id of the tool use if a record says that the use has started.
func startOf(r session.Record) (use string, ok bool) {
	if r.Kind != record.KindToolStarted {
		return "", false
	}
	var st record.ToolStarted
	err := json.Unmarshal(r.Payload, &st)
	return st.Use, err == nil
}

// resume runs the session to its end in a new process.
func (s *demoRun) resume(ctx context.Context) error {
	args := []string{"--resume", demoSession}
	if runtime.GOOS != "linux" {
		args = append(args, "--takeover") // on other systems the lease is not released when its holder dies
	}
	if err := s.child(ctx, args...).Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the agent that resumed the session failed: %w", err)
	}
	return nil
}
