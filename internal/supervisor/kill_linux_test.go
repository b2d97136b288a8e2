package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// escapes are scripts that leave processes outside of their process group. Each prints the id of one, and
// then waits.
var escapes = map[string]string{
	"child":             "sleep 1000 & echo $!; wait",
	"session":           "setsid -f sh -c 'echo $$; exec sleep 1000'; sleep 1000",
	"double fork":       "(setsid sh -c 'setsid -f sh -c \"echo \\$\\$; exec sleep 1000\"' &) ; sleep 1000",
	"deaf to SIGTERM":   "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' & while :; do sleep 1; done",
	"stopped":           "setsid sh -c 'echo $$; kill -STOP $$' & sleep 0.1; kill -STOP $$",
	"parent has ended":  "setsid sh -c 'sleep 1000 & echo $!' & sleep 1000",
	"ever new sessions": "run='sleep 0.01; setsid -f sh -c \"$run\"'; export run; setsid -f sh -c \"$run\"; setsid -f sh -c 'echo $$; sleep 1000'; sleep 1000",
	"ever new children": "f() { sleep 0.005; f & }; f & sleep 1000 & echo $!; wait; sleep 1000",
}

func TestKill(t *testing.T) {
	h := newSupervisor(t)
	other := h.start(escapes["session"])
	stays := number(t, other)
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			p := h.start(script, grace(100*time.Millisecond))
			hidden := number(t, p)
			if !alive(hidden) {
				t.Fatal("it is not there")
			}
			if err := p.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if alive(hidden) || alive(p.Pid()) {
				t.Errorf("alive: %v, %v", alive(hidden), alive(p.Pid()))
			}
			if e := exitOf(t, p); e.Signal == "" || e.OOM {
				t.Errorf("%+v", e)
			}
			if err := p.Kill(t.Context()); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
	if !alive(stays) || !alive(other.Pid()) {
		t.Error("another one's process was killed")
	}
	if left := countBelow(t, h.cmd.Process.Pid); left != 4 { // reaper, shell and two sleeps
		t.Errorf("%d processes are left", left)
	}
}

// A process that ends within its grace time is not killed; otherwise it is killed when that time is over.
func TestGrace(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("trap 'sleep 0.2; echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
	line(t, p)
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, p); e.Code != 3 || e.Signal != "" {
		t.Errorf("%+v", e)
	}
	if got := output(t, p); got != "saved\n" {
		t.Errorf("%q", got)
	}
	p = h.start("trap '' TERM; echo ready; while :; do sleep 0.05; done", grace(time.Hour))
	line(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Kill(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := p.Signal(t.Context(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if e := exitOf(t, p); e.Signal != "SIGKILL" || e.Code != 137 || e.OOM {
		t.Errorf("%+v", e)
	}
}

// Processes that a program leaves behind end with it.
func TestOrphansKilled(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("setsid -f sh -c 'echo $$; exec sleep 1000'; read -r it; exit 5")
	left := number(t, p)
	if _, err := io.WriteString(p.Stdin(), "it is there\n"); err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, p); e.Code != 5 || alive(left) {
		t.Errorf("%+v, alive: %v", e, alive(left))
	}
}

func TestLostConnection(t *testing.T) {
	h := newSupervisor(t)
	for name, script := range map[string]string{"session": escapes["session"], "deaf": escapes["deaf to SIGTERM"], "loud": "echo $$; exec cat /dev/zero"} {
		p := h.start(script, grace(50*time.Millisecond))
		hidden := number(t, p)
		_ = p.Close()
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("%s: Wait: %v", name, err)
		}
		if err := p.Kill(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("%s: Kill: %v", name, err)
		}
		wait(t, name+" has ended", func() bool { return !alive(hidden) && !alive(p.Pid()) })
	}
	wait(t, "nothing is left", func() bool { return countBelow(t, h.cmd.Process.Pid) == 0 })
}

// A host that dies sends nothing.
func TestSupervisorEnds(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"asked": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			h := newSupervisor(t)
			p := h.start(escapes["deaf to SIGTERM"], grace(100*time.Millisecond))
			hidden := number(t, p)
			if err := h.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			e, err := p.Wait(t.Context())
			switch {
			case sig == syscall.SIGTERM && (err != nil || e.Signal != "SIGKILL"):
				t.Errorf("%+v, %v", e, err)
			case sig == syscall.SIGKILL && !errors.Is(err, ErrLost):
				t.Errorf("%v", err)
			}
			wait(t, "it has ended", func() bool { return !alive(hidden) && !alive(p.Pid()) })
		})
	}
}

// A reaper is small, and the kernel kills it last; but if it does, no process of its tree is left, and no
// other is affected.
func TestReaperKilled(t *testing.T) {
	h := newSupervisor(t)
	other := h.start(escapes["double fork"])
	stays := number(t, other)
	p := h.start(escapes["double fork"])
	hidden := number(t, p)
	if err := syscall.Kill(parentOf(t, p.Pid()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, p); e.Signal != "SIGKILL" || e.OOM {
		t.Errorf("%+v", e)
	}
	if alive(hidden) || alive(p.Pid()) {
		t.Error("it lives")
	}
	if !alive(stays) || !alive(other.Pid()) {
		t.Error("another one's process was killed")
	}
}

// The kernel kills agents for lack of memory before the supervisor and the reapers. A reaper that starts one
// has the agent's score until the agent's program runs.
func TestOOMScore(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("cat /proc/self/oom_score_adj; echo $PPID; exec sleep 1000")
	if agent := number(t, p); agent != oomScore {
		t.Errorf("the agent's score is %d", agent)
	}
	path := fmt.Sprintf("/proc/%d/oom_score_adj", number(t, p))
	wait(t, "the reaper has its own score again", func() bool {
		b, err := os.ReadFile(path)
		score, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil && err2 == nil && score <= 0
	})
}

func TestRestartedSupervisor(t *testing.T) {
	h := newSupervisor(t)
	old := h.dial()
	again := newSupervisorAt(t, h)
	if _, err := old.Ping(t.Context()); err != nil {
		t.Errorf("the first one's connection: %v", err)
	}
	if health, err := h.dial().Ping(t.Context()); err != nil || health.Pid != again.Process.Pid {
		t.Errorf("%+v, %v; want process %d", health, err, again.Process.Pid)
	}
}
