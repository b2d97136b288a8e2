//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// figures are the measurements of one process.
type figures struct {
	wall, first, exit, cpu time.Duration
	peak                   int // peak memory of the process and its children, in KiB
	bytes, requests        int
	prompts                []string
}

// play runs a program once. If memory is true, it polls the memory of the program's processes. That
// takes time, so the times of such a run are not used.
func play(ctx context.Context, s *server, p *program, again bool, calls int, prompt, answer string, memory bool) (f figures, err error) {
	args := p.once
	if again {
		args = p.again
	}
	if p.name != "bare client" {
		args = append(args[:len(args):len(args)], prompt)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = p.environ(), p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	log, err := os.Create(filepath.Join(p.home, "output"))
	if err != nil {
		return f, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	look := func() {}
	if memory {
		look = func() { f.peak = max(f.peak, memoryOf(cmd.Process.Pid)) }
	}
	s.begin(calls, answer, look)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return f, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for memory {
			select {
			case <-tick.C:
				s.mu.Lock()
				look()
				s.mu.Unlock()
			case <-stop:
				return
			}
		}
	}()
	err = cmd.Wait()
	ended := time.Now()
	close(stop)
	<-stopped
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(s.arrived) != calls+1 {
		out, _ := os.ReadFile(log.Name())
		return f, fmt.Errorf("%s: %d requests with a shell tool, not %d; %v\n%.2000s", p.name, len(s.arrived), calls+1, err, out)
	}
	f.wall, f.first, f.exit = ended.Sub(began), s.arrived[0].Sub(began), ended.Sub(s.answered)
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f.bytes, f.requests, f.prompts = s.bytes, s.all, s.prompts
	return f, nil
}

// memoryOf sums the memory of a process and its descendants, in KiB. A page that several processes
// share is counted once for each of them.
func memoryOf(pid int) (sum int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := strings.Fields(string(b)); err == nil && len(fields) > 1 {
		pages, _ := strconv.Atoi(fields[1])
		sum = pages * os.Getpagesize() / 1024
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		b, _ := os.ReadFile(file)
		for _, child := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(child)
			sum += memoryOf(n)
		}
	}
	return sum
}
