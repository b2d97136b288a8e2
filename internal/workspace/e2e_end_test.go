//go:build unix

package workspace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// A session that uses up the container's memory ends with the cause and a hint. The other session in the same
// container completes.
func TestE2EOutOfMemory(t *testing.T) {
	v := newE2E(t, "--credential", "HOLDFAST_TEST_CLAUDE", "--agent", "claude", "--command", "/work/claude")
	v.env = append(v.env, "HOLDFAST_TEST_CLAUDE=1")
	standIn, err := workspace.ClaudeProgram()
	v.okay(err)
	v.okay(os.WriteFile(filepath.Join(v.project, "claude"), standIn, 0o755)) //nolint:gosec // it is a program
	other := v.begin("run", "--workspace", "blog", "--agent", "holdfast", "--session-id", "other", "--permission-mode", "acceptEdits", "wait")
	v.awaitWaitPrompt()
	c := v.begin("run", "--workspace", "blog", "--session-id", "hungry", "eat 400")
	c.expect(1, "ran out of memory", "hint: give the workspace more: holdfast workspace set")
	if n := v.container().Processes; n != 1 {
		t.Errorf("%d processes, and one was to stay", n)
	}
	v.release <- struct{}{}
	other.expect(0, "wrote it")
	v.checkFile("waited")
	v.turn("on", "--session-id", "hungry", "say on")
	v.idle()
}

// Deleting a workspace removes everything of it from disk and engine, but not the project and the sessions.
func TestE2EDelete(t *testing.T) {
	v := newE2E(t)
	v.turn("wrote it", "--permission-mode", "acceptEdits", "write kept")
	v.okay(os.WriteFile(filepath.Join(v.home, "workspaces/blog/home/of-the-agent"), nil, 0o600))
	if out, code := v.run("workspace", "delete", "blog"); code != 2 || !strings.Contains(out, "--yes") {
		t.Errorf("deleted without a confirmation: %d: %s", code, out)
	}
	if out := v.must("workspace", "delete", "blog", "--yes"); !strings.Contains(out, "recorded in 1 session") {
		t.Errorf("delete prints %s", out)
	}
	v.nothingLeft()
	v.checkFile("kept")
	if out, code := v.run("workspace", "delete", "blog", "--yes"); code != 9 || !strings.Contains(out, "no such workspace") {
		t.Errorf("a second time: %d: %s", code, out)
	}
	if out, code := v.run("run", "--workspace", "blog", "say no"); code != 9 {
		t.Errorf("a turn in it: %d: %s", code, out)
	}
	if out := v.must("sessions", "list", "--all", "--json"); !strings.Contains(out, `"message_count":4`) {
		t.Errorf("its session is missing: %s", out)
	}
	// a new workspace of the same name has none of the old one's sessions
	v.must("workspace", "create", "blog", "--project", v.project)
	if out := v.must("sessions", "list", "--workspace", "blog", "--json"); !strings.Contains(out, `"sessions":[]`) {
		t.Errorf("the next one has %s", out)
	}
	v.must("workspace", "delete", "blog", "--yes")
	v.nothingLeft()
}

// A workspace can be deleted while its container is stopped, after its container was removed, and while a turn
// runs in it, which then ends.
func TestE2EDeleteBusy(t *testing.T) {
	v := newE2E(t)
	image := v.containerImage()
	v.must("workspace", "start", "blog")
	v.must("workspace", "stop", "blog")
	v.must("workspace", "delete", "blog", "--yes")
	v.nothingLeft()

	v.must("workspace", "create", "blog", "--image", image) // a project of its own
	v.must("workspace", "start", "blog")
	v.okay(v.engine.Remove(t.Context(), v.containers()[0].ID))
	v.must("workspace", "delete", "blog", "--yes")
	v.nothingLeft()

	v.must("workspace", "create", "blog", "--image", image)
	c := v.begin("run", "--workspace", "blog", "wait")
	v.awaitWaitPrompt()
	out, code := v.run("workspace", "delete", "blog", "--yes")
	c.expect(1, "lost")
	if code != 0 { // the session was locked until the turn had ended
		if code != 7 || !strings.Contains(out, "hint:") {
			t.Errorf("deleted in the middle of a turn: %d: %s", code, out)
		}
		v.must("workspace", "delete", "blog", "--yes")
	}
	v.nothingLeft()
	v.must("sessions", "verify", "--all")
}

// Without the engine, a workspace with a container is deleted only if the user asks for that; a warning then
// names the container.
func TestE2EDeleteWithoutEngine(t *testing.T) {
	v := newE2E(t)
	v.must("workspace", "start", "blog")
	there := v.env
	v.env = append(append([]string{}, there...), "DOCKER_HOST=unix:///no/such/engine.sock")
	if out, code := v.run("workspace", "delete", "blog", "--yes"); code != 10 || !strings.Contains(out, "--no-engine") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := v.run("run", "--workspace", "blog", "say no"); code == 0 {
		t.Errorf("a turn in a workspace that is half deleted: %s", out)
	}
	if out := v.must("workspace", "delete", "blog", "--yes", "--no-engine"); !strings.Contains(out, "was not checked") {
		t.Errorf("delete prints %s", out)
	}
	if left, err := os.ReadDir(filepath.Join(v.home, "workspaces")); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	v.env = there
	if n := len(v.containers()); n != 1 {
		t.Errorf("%d containers", n)
	}
}

// containerImage returns the image of the workspace.
func (v *e2eEnv) containerImage() string {
	v.t.Helper()
	c := v.container()
	if c.State != "absent" {
		v.t.Errorf("%+v: the container is made when it is needed first", c)
	}
	_, image, _ := strings.Cut(v.must("workspace", "show", "blog"), "image ")
	return strings.Fields(image)[0]
}

// nothingLeft looks for leftovers of a deleted workspace.
func (v *e2eEnv) nothingLeft() {
	v.t.Helper()
	if left, err := os.ReadDir(filepath.Join(v.home, "workspaces")); err != nil || len(left) != 0 {
		v.t.Errorf("on the disk: %v, %v", left, err)
	}
	if list := v.containers(); len(list) != 0 {
		v.t.Errorf("in the engine: %+v", list)
	}
	for _, kind := range []string{"/containers/json?all=1", "/networks", "/volumes"} {
		if b := v.api("GET", kind); bytes.Contains(b, []byte(v.hash()[:8])) || bytes.Contains(b, []byte(v.home)) {
			v.t.Errorf("%s: %s", kind, b)
		}
	}
}

// The engine crashes and restarts between two turns, and during one.
func TestE2EEngineRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an engine: make test-all")
	}
	t.Parallel()
	separate := workspace.StartEngine(t, "{}")
	e, err := engine.Connect(t.Context(), separate.Host())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := newE2EOn(t, e, separate.Host(), "")
	v.turn("wrote it", "--permission-mode", "acceptEdits", "write one")
	separate.Kill()
	if out, code := v.run("run", "--workspace", "blog", "-c", "say no"); code != 10 || !strings.Contains(out, "hint:") {
		t.Errorf("without the engine: %d: %s", code, out)
	}
	separate.Start()
	v.turn("on", "-c", "say on")
	c := v.begin("run", "--workspace", "blog", "-c", "--permission-mode", "acceptEdits", "wait")
	v.awaitWaitPrompt()
	separate.Kill()
	separate.Start()
	v.release <- struct{}{}
	switch c.ended() {
	case 0: // the run did not notice
		v.checkFile("waited")
	case 1: // with its own error, if it could still report one
		if out := c.err.String(); !strings.Contains(out, "lost") && !strings.Contains(out, "was stopped") {
			t.Errorf("the turn ended with: %s", out)
		}
	default:
		t.Errorf("exit code %d: %s", c.cmd.ProcessState.ExitCode(), c.err.String())
	}
	v.turn("still", "-c", "say still")
	v.idle()
	v.must("sessions", "verify", "--all")
}
