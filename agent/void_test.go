package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// voidableTool is a tool whose calls come from another program, which may end.
type voidableTool struct {
	probe
	gone chan struct{}
}

func (l voidableTool) Void(*tool.Call) (<-chan struct{}, func() string) {
	return l.gone, func() string { return "the container has ended" }
}

// The approval request of a call that can no longer run is closed, and no approval is requested for the
// calls after it.
func TestApprovalEndsWithCaller(t *testing.T) {
	gone := make(chan struct{})
	var e echo
	s := session.New(memory.New(), nil)
	asked := 0
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`), use("c2", "Edit", `{}`)}}, step{text: "done"})
	a := newAgent(t, m, agent.Options{
		Sessions: s, Tools: registry(t, voidableTool{e.tool("Edit"), gone}), Permissions: agent.Permissions{
			Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}},
			Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
				asked++
				close(gone) // while the approval request waits
				<-ctx.Done()
				return approval.Answer{}, ctx.Err()
			},
		},
	})
	res := prompt(t, a, "go")
	got := results(t, a)
	for _, id := range []string{"c1", "c2"} {
		if r := got[id]; !strings.HasPrefix(r.Text(), "not run: the container has ended") || !r.IsError {
			t.Errorf("%s got %q", id, r.Text())
		}
	}
	if asked != 1 || len(e.ran) != 0 || len(res.Denials) != 0 {
		t.Errorf("asked %d times, ran %v, denied %v", asked, e.ran, res.Denials)
	}
	if on := payloads(t, s, a.SessionID(), record.KindApprovalResolved); len(on) != 1 || !strings.Contains(on[0], `"by":"lapse"`) {
		t.Errorf("recorded: %v", on)
	}
}
