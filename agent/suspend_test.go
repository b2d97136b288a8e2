package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A suspended approval request of a sub-agent ends the run like one of the agent itself. It is presented
// again when the agent runs again, and stays open if it is suspended again.
func TestSuspendKeepsSubagentApproval(t *testing.T) {
	for _, again := range []bool{true, false} {
		person := &fixedAnswer{err: approval.ErrSuspend}
		bash := command("Bash")
		h := newSubagentEnv(t, asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}}),
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "push", "")}}, {text: "thanks"}},
			map[string]*fake{"scout": play(t, pushCall(1), step{text: "pushed"})}, kind("scout"))
		if res, err := h.parent.Prompt(t.Context(), "go"); !errors.Is(err, approval.ErrSuspend) {
			text, _ := resultText(t, h.parent, "c1")
			t.Fatalf("%+v, %v, %s", res, err, text)
		}
		questions := 1
		if again {
			person.answer, person.err, questions = approval.Answer{Decision: approval.Allow}, nil, 0
			res, err := h.parent.Prompt(t.Context(), "go on")
			if err != nil || !strings.Contains(res.Text, "thanks") || len(bash.inputs) != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
		} else if err := h.parent.Suspend(); err != nil {
			t.Fatal(err)
		}
		m, err := h.sessions.Get(t.Context(), h.parent.SessionID())
		children := h.children()
		if err != nil || m.OpenApprovals != questions || len(children) != 1 || children[0].OpenApprovals != 0 {
			t.Errorf("again %v: %+v, %+v, %v", again, m, children, err)
		}
	}
}

// A suspended approval request of a background sub-agent ends Await.
func TestAwaitSuspendedApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		person := func(context.Context, approval.Request) (approval.Answer, error) {
			<-gone
			return approval.Answer{}, approval.ErrSuspend
		}
		h := newSubagentEnv(t, asking(agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: person}, Background: &agent.Background{}}),
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "push", `,"run_in_background":true`)}}, {text: "meanwhile"}},
			map[string]*fake{"scout": play(t, pushCall(1))}, kind("scout"))
		prompt(t, h.parent, "go")
		came := make(chan error, 1)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		go func() { came <- h.parent.Await(ctx) }()
		synctest.Wait()
		close(gone)
		if err := <-came; !errors.Is(err, approval.ErrSuspend) {
			t.Errorf("waited: %v", err)
		}
		if err := h.parent.Suspend(); err != nil {
			t.Error(err)
		}
	})
}

// A snapshot has the approval requests of the agent and of its sub-agents.
func TestSnapshotHasSubagentApprovals(t *testing.T) {
	var h *subagentEnv
	seen := make(chan []approval.Request, 1)
	person := func(_ context.Context, q approval.Request) (approval.Answer, error) {
		seen <- h.parent.Snapshot().Approvals
		return approval.Answer{Decision: approval.Deny}, nil
	}
	h = newSubagentEnv(t, asking(agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: person}}),
		[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "push", "")}}, {text: "thanks"}},
		map[string]*fake{"scout": play(t, pushCall(1), step{text: "I may not"})}, kind("scout"))
	prompt(t, h.parent, "go")
	if open := <-seen; len(open) != 1 || open[0].Agent != "scout" || open[0].Session != h.parent.SessionID() || open[0].Asker != h.children()[0].ID {
		t.Errorf("while approval waits: %+v", open)
	}
	if open := h.parent.Snapshot().Approvals; len(open) != 0 {
		t.Errorf("afterwards: %+v", open)
	}
}
