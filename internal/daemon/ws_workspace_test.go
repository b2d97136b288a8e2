package daemon

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// A run that is prepared over the WebSocket works in the workspace that it names.
func TestSocketWorkspace(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: done}]"}, nil)
	prepare := func(more string) string {
		return fmt.Sprintf(`{"type":"prepare_run","requestId":"1","strategy":%s,%s}`, soleWriter, more)
	}
	c := w.ann()
	c.send(prepare(`"workspace":"blog"`))
	if m := c.next(); m["code"] != "PREPARE_FAILED" || m["requestId"] != "1" {
		t.Errorf("a daemon without workspaces says %v", m)
	}
	w.stop()

	t.Setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
	var err error
	w.workspaces, err = workspace.New(w.home, &workspace.Options{})
	must(t, err)
	defer func() { must(t, w.workspaces.Close()) }()
	project := t.TempDir()
	_, err = w.workspaces.Create(t.Context(), workspace.Settings{Slug: "blog", Project: project})
	must(t, err)
	var need runs.AgentRequest
	w.onAgentRequest = func(n runs.AgentRequest) { need = n }
	w.begin()
	defer w.stop()
	c = w.ann()
	for more, code := range map[string]string{
		`"workspace":"none"`:                        "PREPARE_FAILED",
		`"workspace":"../blog"`:                     "PREPARE_FAILED",
		`"workspace":""`:                            "VALIDATION_ERROR",
		`"workspace":7`:                             "VALIDATION_ERROR",
		`"workspace":"blog","cwd":"` + w.cwd + `"`:  "VALIDATION_ERROR",
		`"workspace":"blog","strategyPath":"x.yml"`: "VALIDATION_ERROR",
	} {
		c.send(prepare(more))
		if m := c.next(); m["code"] != code || m["requestId"] != "1" {
			t.Errorf("%s: %v, want %s", more, m, code)
		}
	}
	c.send(prepare(`"workspace":"blog"`))
	m := c.until("run_prepared")
	if m["workspace"] != "blog" || m["cwd"] != project {
		t.Errorf("prepared is %v", m)
	}
	c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, m["runId"]))
	if m := c.until("strategy_completed"); m["result"] != "done" {
		t.Errorf("it ended as %v", m)
	}
	if need.Spec.Workspace != "blog" || need.Spec.Cwd != project {
		t.Errorf("its agent was created for the workspace %q and the folder %q", need.Spec.Workspace, need.Spec.Cwd)
	}
}
