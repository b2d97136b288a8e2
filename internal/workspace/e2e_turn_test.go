//go:build unix

package workspace_test

import (
	"strings"
	"syscall"
	"testing"
)

// Create, a turn, the container is killed, the next turn goes on; and so it does when the
// container was taken away.
func TestE2EContainerReused(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	v.turn("wrote it", "--permission-mode", "acceptEdits", "write one")
	v.made("one")
	v.kill()
	v.until("the engine has noticed", func() bool { return v.container().State == "exited" })
	v.turn("wrote it", "-c", "--permission-mode", "acceptEdits", "write two")
	v.made("two")
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

// The container is killed while a turn is under way: the turn fails and says why, what
// was said is kept, and the next one goes on.
func TestE2EKilledInTurn(t *testing.T) {
	v := newVisit(t)
	c := v.begin("run", "--workspace", "blog", "wait")
	v.waits()
	v.kill()
	c.wants(1, "lost", "session ")
	v.turn("on", "-c", "say on")
	v.idle()
	v.must("sessions", "verify", "--all")
}

// The container is stopped while a turn is under way: nobody has interrupted the turn, and
// it does not say so.
func TestVisitStoppedInATurn(t *testing.T) {
	v := newVisit(t)
	c := v.begin("run", "--workspace", "blog", "wait")
	v.waits()
	v.must("workspace", "stop", "blog")
	c.wants(1, "the container was stopped", "resume the session")
	v.turn("on", "-c", "say on")
	v.idle()
	v.must("sessions", "verify", "--all")
}

// Two sessions work in one container at the same time.
func TestVisitTwoAtOnce(t *testing.T) {
	v := newVisit(t)
	one := v.begin("run", "--workspace", "blog", "--session-id", "one", "--permission-mode", "acceptEdits", "wait")
	v.waits()
	two := v.begin("run", "--workspace", "blog", "--session-id", "two", "--permission-mode", "acceptEdits", "wait")
	v.waits()
	if c := v.container(); c.Processes != 2 || len(v.containers()) != 1 {
		t.Errorf("%+v", c)
	}
	if out, code := v.run("run", "--workspace", "blog", "--session-id", "one", "say no"); code != 7 {
		t.Errorf("a session that has its turn has another: %d: %s", code, out)
	}
	v.told <- struct{}{}
	v.told <- struct{}{}
	one.wants(0, "wrote it", "session one")
	two.wants(0, "wrote it", "session two")
	v.idle()
}

// Settings that change while somebody works there wait for the end, and are told; with
// nobody there the next turn has them.
func TestVisitSettingsChange(t *testing.T) {
	v := newVisit(t)
	c := v.begin("run", "--workspace", "blog", "--permission-mode", "acceptEdits", "wait")
	v.waits()
	first := v.container()
	v.must("workspace", "set", "blog", "--memory", "300m")
	if out := v.must("workspace", "start", "blog"); !strings.Contains(out, "it will be recreated when idle") {
		t.Errorf("start says %s", out)
	}
	if now := v.container(); !now.Outdated || now.ID != first.ID {
		t.Errorf("%+v", now)
	}
	if out := v.must("workspace", "show", "blog"); !strings.Contains(out, "settings changed; the container is recreated at the next use") {
		t.Errorf("show says %s", out)
	}
	v.told <- struct{}{}
	c.wants(0, "wrote it")
	v.turn("on", "-c", "say on")
	if now := v.container(); now.Outdated || now.ID == first.ID {
		t.Errorf("%+v", now)
	}
}

// However a turn ends before its end, nothing of it is left inside.
func TestVisitCancel(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGKILL, -1}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			c := v.begin("run", "--workspace", "blog", "wait")
			v.waits()
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
