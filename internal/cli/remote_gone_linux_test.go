package cli

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// A closed terminal answers nothing: the approval request stays open in the daemon.
func TestTerminalClosed(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	env = append(slices.Clone(env), "HOLDFAST_HOME="+filepath.Join(shortDir(t), "hf"))
	d, _ := serve(t, dir, env)
	c := startTerminal(t, env, dir, "run", "--session-id", "s", "go")
	c.expect(`and stop: $`)
	if err := c.master.Close(); err != nil {
		t.Fatal(err)
	}
	if code := c.exit(); code != outcome.Approval.Exit {
		t.Errorf("exit code %d", code)
	}
	r, err := d.Run(t.Context(), "s")
	if err != nil || r.Status != api.StatusWaiting || r.Approvals != 1 {
		t.Errorf("%+v: %v", r, err)
	}
	c = startTerminal(t, env, dir, "approvals", "list")
	c.expect(`touch made`)
	c.exit()
}
