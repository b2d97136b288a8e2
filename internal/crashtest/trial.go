package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Launch starts a child, calls kill after the delay, kills the child with SIGKILL and returns its
// report. The delay starts when the child starts its work. If the child finishes earlier, kill is
// called at that time. With a negative delay, Launch waits for the end of the child and does not
// call kill.
func Launch(ctx context.Context, t Task, delay time.Duration, kill func() error) (*Report, error) {
	task, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVar+"="+string(task), "GOMAXPROCS=2", "GOTRACEBACK=single")
	cmd.ExtraFiles = []*os.File{to}
	cmd.Stderr = &stderr
	err = cmd.Start()
	_ = to.Close()
	if err != nil {
		return nil, err
	}

	ready, over := make(chan struct{}), make(chan struct{})
	var (
		report  *Report
		readErr error
		began   time.Time
		took    time.Duration
	)
	go func() {
		defer close(over)
		report, readErr = ReadReport(from, func() { began = time.Now(); close(ready) })
		took = time.Since(began)
	}()
	at, err := killTime(ready, over, delay, kill)
	if delay >= 0 {
		_ = cmd.Process.Kill() // the process may have ended already
	}
	<-over
	_ = cmd.Wait() // killed, or the report contains the reason
	switch {
	case err != nil:
		return nil, err
	case readErr != nil:
		return nil, readErr
	case stderr.Len() > 0 && !report.Done:
		report.Failed = append(report.Failed, firstLines(stderr.String(), 12))
	}
	report.Took, report.KilledAt = took, at
	return report, nil
}

// killTime waits for the time of the kill and calls kill. It returns the time at which that call
// began.
func killTime(ready, over chan struct{}, delay time.Duration, kill func() error) (at int64, err error) {
	select {
	case <-ready:
	case <-over:
	}
	if delay < 0 {
		<-over
		return 0, nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	}
	if kill == nil {
		return 0, nil
	}
	at = time.Now().UnixNano()
	if err := kill(); err != nil {
		return at, fmt.Errorf("crashtest: kill: %w", err)
	}
	return at, nil
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// run runs a program and waits until it ends.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
