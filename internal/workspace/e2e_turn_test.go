//go:build unix

package workspace_test

import (
	"strings"
	"syscall"
	"testing"
)

// The session continues after its container was killed between turns, and after it was removed.
func TestE2EContainerReused(t *testing.T) {
	t.Parallel()
	v := newE2E(t)
	v.turn("wrote it", "--permission-mode", "acceptEdits", "write one")
	v.checkFile("one")
	v.kill()
	v.until("the engine has noticed", func() bool { return v.container().State == "exited" })
	v.turn("wrote it", "-c", "--permission-mode", "acceptEdits", "write two")
	v.checkFile("two")
	first := v.container().ID
	v.okay(v.engine.Remove(t.Context(), first))
	if c := v.container(); c.State != "absent" {
		t.Errorf("%+v", c)
	}
	v.turn("three", "-c", "say three")
	if c := v.container(); c.State != "running" || c.ID == first {
		t.Errorf("%+v", c)
	}
	v.idle()
	if out := v.must("sessions", "list", "--workspace", "blog", "--json"); strings.Count(out, `"id"`) != 1 || !strings.Contains(out, `"message_count":10`) {
		t.Errorf("it is not one session of ten items: %s", out)
	}
	v.must("sessions", "verify", "--all")
}

// The container is killed during a turn: the turn fails with the cause, its messages are stored, and the next
// turn works.
func TestE2EKilledInTurn(t *testing.T) {
	v := newE2E(t)
	c := v.begin("run", "--workspace", "blog", "wait")
	v.awaitWaitPrompt()
	v.kill()
	c.expect(1, "lost", "session ")
	v.turn("on", "-c", "say on")
	v.idle()
	v.must("sessions", "verify", "--all")
}

// The container is stopped during a turn: the turn is not reported as interrupted.
func TestE2EStoppedInTurn(t *testing.T) {
	v := newE2E(t)
	c := v.begin("run", "--workspace", "blog", "wait")
	v.awaitWaitPrompt()
	v.must("workspace", "stop", "blog")
	c.expect(1, "the container was stopped", "resume the session")
	v.turn("on", "-c", "say on")
	v.idle()
	v.must("sessions", "verify", "--all")
}

// Two sessions run in one container at the same time.
func TestE2ETwoSessions(t *testing.T) {
	v := newE2E(t)
	one := v.begin("run", "--workspace", "blog", "--session-id", "one", "--permission-mode", "acceptEdits", "wait")
	v.awaitWaitPrompt()
	two := v.begin("run", "--workspace", "blog", "--session-id", "two", "--permission-mode", "acceptEdits", "wait")
	v.awaitWaitPrompt()
	if c := v.container(); c.Processes != 2 || len(v.containers()) != 1 {
		t.Errorf("%+v", c)
	}
	if out, code := v.run("run", "--workspace", "blog", "--session-id", "one", "say no"); code != 7 {
		t.Errorf("a session that has its turn has another: %d: %s", code, out)
	}
	v.release <- struct{}{}
	v.release <- struct{}{}
	one.expect(0, "wrote it", "session one")
	two.expect(0, "wrote it", "session two")
	v.idle()
}

// Changed settings are reported and take effect after the running turns have ended; without running turns they
// apply to the next turn.
func TestE2ESettingsChange(t *testing.T) {
	v := newE2E(t)
	c := v.begin("run", "--workspace", "blog", "--permission-mode", "acceptEdits", "wait")
	v.awaitWaitPrompt()
	first := v.container()
	v.must("workspace", "set", "blog", "--memory", "300m")
	if out := v.must("workspace", "start", "blog"); !strings.Contains(out, "it will be recreated when idle") {
		t.Errorf("start prints %s", out)
	}
	if now := v.container(); !now.Outdated || now.ID != first.ID {
		t.Errorf("%+v", now)
	}
	if out := v.must("workspace", "show", "blog"); !strings.Contains(out, "settings changed; the container is recreated at the next use") {
		t.Errorf("show prints %s", out)
	}
	v.release <- struct{}{}
	c.expect(0, "wrote it")
	v.turn("on", "-c", "say on")
	if now := v.container(); now.Outdated || now.ID == first.ID {
		t.Errorf("%+v", now)
	}
}

// A turn that ends early leaves no process inside, whatever ended it.
func TestE2ECancel(t *testing.T) {
	t.Parallel()
	v := newE2E(t)
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGKILL, -1}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			c := v.begin("run", "--workspace", "blog", "wait")
			v.awaitWaitPrompt()
			if n := len(v.processes()); n < 3 {
				t.Errorf("%d processes: nothing works inside", n)
			}
			c.kill(tt.signal)
			if got := c.ended(); got != tt.code {
				t.Errorf("exit code %d: %s", got, c.err.String())
			}
			v.idle()
			v.turn("on", "-c", "say on")
		})
	}
	v.must("sessions", "verify", "--all")
}
