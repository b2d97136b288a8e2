package vendoragent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/workspace/codex"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// recordedProcess replays a recording.
type recordedProcess struct{ *vendortest.Process }

func (recordedProcess) Wait(context.Context) (vendoragent.Exit, error) {
	return vendoragent.Exit{}, nil
}
func (recordedProcess) Kill(context.Context) error { return nil }
func (recordedProcess) Close() error               { return nil }

// A recording of Codex passes through the loop: a command that runs in the background delays neither the next
// approval request nor the end of the turn.
func TestCodex(t *testing.T) {
	for file, want := range map[string]string{
		"background": "bg over", "patch": "Patched.", "allowed": "Listed.", "mcp": "MCP done.", "first": "First answer.",
	} {
		t.Run(file, func(t *testing.T) {
			o := agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass, Folders: []string{t.TempDir()}}}}
			o.Sessions = session.New(memory.New(), nil)
			g, err := vendoragent.New(vendoragent.Options{
				Vendor: codex.Driver{}, Sessions: o.Sessions, Workspace: "blog", WorkspaceID: "w1",
				PathMap: vendoragent.PathMap{Work: "/work", Home: "/home/agent", All: []vendoragent.PathMapping{{Host: o.Permissions.Config.Folders[0], Inside: "/work"}}},
				Start: func(context.Context, vendoragent.Spec) (vendoragent.Process, error) {
					return recordedProcess{vendortest.Replay(t, "../codex/testdata/"+file+".wire")}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			o = g.Agent(o)
			a, err := agent.New(g, &o)
			if err != nil {
				t.Fatal(err)
			}
			g.Attach(a)
			defer g.Close()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			res, err := a.Prompt(ctx, "please")
			if err != nil || !strings.HasSuffix(res.Text, want) {
				t.Errorf("ended with %q (%s), %v", res.Text, res.Reason, err)
			}
		})
	}
}
