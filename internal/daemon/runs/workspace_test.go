package runs_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/runspec"
)

// inWorkspace creates agents whose sessions belong to a workspace, like those in containers.
func inWorkspace(m model.Model, slug string) func(context.Context, agent.Options) (runs.Agent, error) {
	return func(_ context.Context, o agent.Options) (runs.Agent, error) {
		o.Session.Opened.Project = "workspace:" + slug + ":1"
		return agent.New(m, &o)
	}
}

// An approval request of a run in a workspace stays open when the daemon ends. It can be answered
// before or after the run is continued; the run continues in its workspace, and the call runs once.
func TestApprovalInWorkspaceAfterRestart(t *testing.T) {
	for _, answered := range []bool{false, true} {
		w := begin(t, map[string]string{"writer": pushScript})
		var spaces []string
		w.making = func(_ context.Context, n runs.AgentRequest) { spaces = append(spaces, n.Spec.Workspace+" "+n.Project) }
		p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: t.TempDir(), Workspace: "blog"}})
		w.ok(err)
		w.ok(w.runs.Start(t.Context(), p.Run, "go", "r1", ann))
		q := w.watch(p.Run, 0).approval()
		w.restart()
		info, err := w.runs.Get(t.Context(), p.Run)
		w.ok(err)
		if info.Status != api.StatusInterrupted || info.Approvals != 1 {
			t.Fatalf("%+v", info)
		}
		if answered {
			_, err := w.runs.Decide(t.Context(), p.Run, decision(q, approval.Allow), q.Digest)
			w.ok(err)
		}
		w.ok(w.runs.Continue(t.Context(), p.Run, "", "r2", ann))
		v := w.watch(p.Run, info.LastSeq)
		if !answered {
			_, err := w.runs.Decide(t.Context(), p.Run, decision(q, approval.Allow), q.Digest)
			w.ok(err)
		}
		if e := v.event(wire.RunCompleted); !strings.Contains(e.Text, "pushed: ran git push") {
			t.Errorf("%+v", e)
		}
		if got := w.did(); !slices.Equal(got, []string{"git push"}) {
			t.Errorf("ran %v", got)
		}
		if want := []string{"blog ", "blog workspace:blog:1"}; !slices.Equal(spaces, want) {
			t.Errorf("the agents were created in %q, want %q", spaces, want)
		}
	}
}

// A session stays in its workspace, or outside of all workspaces.
func TestSessionsStayInWorkspaces(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}, {text: done}]"})
	run := func(id, space string) error {
		_, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Run: id, Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: w.cwd, Workspace: space}})
		return err
	}
	for id, space := range map[string]string{"inside": "blog", "outside": ""} {
		w.ok(run(id, space))
		w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
		w.watch(id, 0).event(wire.RunCompleted)
	}
	w.restart()
	w.wantCode(run("inside", "other"), wire.CodePrepareFailed)
	w.wantCode(run("outside", "blog"), wire.CodePrepareFailed)
	var made []string
	w.making = func(_ context.Context, n runs.AgentRequest) { made = append(made, n.Session+" in "+n.Spec.Workspace) }
	for _, id := range []string{"inside", "outside"} { // the request names no workspace
		w.ok(run(id, ""))
		w.ok(w.runs.Start(t.Context(), id, "more", "", ann))
		w.watch(id, 0).until("its second end", func() func(r feed.Record) bool {
			n := 0
			return func(r feed.Record) bool {
				if strings.Contains(string(r.Payload), string(wire.RunCompleted)) {
					n++
				}
				return n == 2
			}
		}())
	}
	if want := []string{"inside in blog", "outside in "}; !slices.Equal(made, want) {
		t.Errorf("created in %q, want %q", made, want)
	}
}
