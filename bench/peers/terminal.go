//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// screenFigures are the measurements of one conversation in a terminal.
type screenFigures struct {
	first, usable    time.Duration   // from the start
	keys             []time.Duration // from a key until its character is written, at 200 tokens per second
	perToken, amount float64         // bytes written per token and per byte of the answer, at 100 tokens per second
	cpu              float64         // share of a processor, at 100 tokens per second
	memory           int             // after the start, in KiB
	others           float64         // share of all processors that other programs used meanwhile
}

// talk is a program that runs in a terminal. Its processes are all descendants of this process: the
// bench measures one program after the other, and adopts processes that leave their parent.
type talk struct {
	*pty
	cmd *exec.Cmd
	s   *server
}

func startTalk(s *server, p *program, more ...string) (*talk, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	args := slices.Concat(p.screen, more)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(p.environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8")
	t, err := startPTY(cmd)
	if err != nil {
		return nil, err
	}
	return &talk{t, cmd, s}, nil
}

// end ends the program and everything that it has started.
func (t *talk) end() {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for _, pid := range family(os.Getpid()) {
			_ = unix.Kill(pid, signal) // it can have ended
		}
		for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
			for _, pid := range family(os.Getpid()) {
				if pid != t.pid {
					_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // only adopted children can be waited for
				}
			}
			if left := family(os.Getpid()); len(left) == 0 || len(left) == 1 && left[0] == t.pid && zombie(t.pid) {
				_ = t.cmd.Wait()
				t.close()
				return
			}
		}
	}
	_ = t.cmd.Wait()
	t.close()
}

func zombie(pid int) bool {
	f := stat(pid)
	return len(f) == 0 || f[0] == "Z"
}

// family returns the descendants of a process.
func family(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		b, _ := os.ReadFile(file)
		for _, child := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(child)
			list = append(append(list, n), family(n)...)
		}
	}
	return list
}

// stat returns the fields of /proc/PID/stat after the name, or nothing.
func stat(pid int) []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Fields(rest)
}

// cpuTime returns the processor time of all processes, in ticks of 10 ms.
func cpuTime() (sum int) {
	for _, pid := range family(os.Getpid()) {
		if f := stat(pid); len(f) > 14 {
			for _, field := range f[11:15] { // own user and system time, and those of children that have ended
				n, _ := strconv.Atoi(field)
				sum += n
			}
		}
	}
	return sum
}

// busy returns the time that all processors have worked, in ticks.
func busy() (sum int) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, field := range strings.Fields(line) {
		if n, err := strconv.Atoi(field); err == nil && i <= 8 && i != 4 && i != 5 { // idle and waiting for the disk
			sum += n
		}
	}
	return sum
}

// ownTime returns the processor time of this process, in ticks.
func ownTime() (sum int) {
	if f := stat(os.Getpid()); len(f) > 12 {
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		sum = user + system
	}
	return sum
}

// calm waits until the processors are nearly idle for a second, but not longer than the limit.
func calm(limit time.Duration) {
	const window = 500 * time.Millisecond
	quiet := 0
	for until := time.Now().Add(limit); quiet < 2 && time.Now().Before(until); {
		before := busy()
		time.Sleep(window)
		if quiet++; busy()-before > 15*runtime.NumCPU() { // of 50 ticks of each processor
			quiet = 0
		}
	}
}

// memory returns the memory of all processes, in KiB.
func memory() (sum int) {
	for _, pid := range family(os.Getpid()) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.Atoi(f[1])
			sum += pages * os.Getpagesize() / 1024
		}
	}
	return sum
}

// ready waits for the first characters and for the first character of the user.
func (t *talk) ready() (f screenFigures, err error) {
	at, err := t.wait(30*time.Second, func(seen []byte) bool { return len(visible(seen)) > 3 })
	if err != nil {
		return f, fmt.Errorf("first frame: %w", err)
	}
	f.first = at.Sub(t.began)
	if at, err = t.usable(30 * time.Second); err != nil {
		return f, fmt.Errorf("input box: %w", err)
	}
	f.usable = at.Sub(t.began)
	return f, nil
}

// ask sends a message and waits for the first token of the answer.
func (t *talk) ask(f *flow) error {
	t.s.stream(f)
	t.say("go", 300*time.Millisecond)
	select {
	case <-f.began:
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("no request came; the screen ends with %.300q", t.last(300))
	}
}

// screenRound measures a program once.
func screenRound(s *server, p *program, keys int) (f screenFigures, err error) {
	s.begin(0, "done", nil)
	all, own, start := busy(), ownTime(), time.Now()
	t, err := startTalk(s, p)
	if err != nil {
		return f, err
	}
	defer t.end()
	defer func() {
		ticks := time.Since(start).Seconds() * 100 * float64(runtime.NumCPU())
		f.others = max(0, float64(busy()-all-(ownTime()-own)-cpuTime())/ticks)
	}()
	if f, err = t.ready(); err != nil {
		return f, err
	}
	time.Sleep(2 * time.Second)
	f.memory = memory()

	fast := newFlow(6000, 200)
	if err := t.ask(fast); err != nil {
		return f, err
	}
	time.Sleep(500 * time.Millisecond)
	for i := range keys {
		took, err := t.key(i)
		if err != nil {
			return f, fmt.Errorf("key %d: %w", i+1, err)
		}
		f.keys = append(f.keys, took)
		time.Sleep(60 * time.Millisecond)
	}
	close(fast.stop)
	<-fast.ended
	time.Sleep(1500 * time.Millisecond)

	slow := newFlow(500, 100)
	if err := t.ask(slow); err != nil {
		return f, err
	}
	from, spent, began := t.size(), cpuTime(), time.Now()
	select {
	case <-slow.ended:
	case <-time.After(20 * time.Second):
		return f, errors.New("the answer was not read")
	}
	f.cpu = float64(cpuTime()-spent) / 100 / time.Since(began).Seconds()
	time.Sleep(300 * time.Millisecond)
	written := float64(t.size() - from)
	f.perToken, f.amount = written/float64(slow.sent), written/float64(slow.bytes)
	return f, nil
}

// screenTurns returns the memory after n turns, in KiB.
func screenTurns(s *server, p *program, n int, pause time.Duration, more ...string) (kib int, err error) {
	s.begin(0, "done", nil)
	t, err := startTalk(s, p, more...)
	if err != nil {
		return 0, err
	}
	defer t.end()
	if _, err = t.ready(); err != nil {
		return 0, err
	}
	time.Sleep(time.Second)
	s.begin(0, strings.Repeat("A line of the answer with some words.\n\n", 5), nil)
	for i := range n {
		t.say("go", pause)
		for until := time.Now().Add(20 * time.Second); s.requests() <= i; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				return 0, fmt.Errorf("turn %d: no request came; the screen ends with %.300q", i+1, t.last(300))
			}
		}
		time.Sleep(pause)
	}
	time.Sleep(2 * time.Second)
	return memory(), nil
}
