package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// agentWithRemains returns an agent whose sub-agents play steps and leave something, such as a checkout.
func agentWithRemains(t *testing.T, steps []step, child ...step) (*agent.Agent, *agent.Subagents) {
	t.Helper()
	kids := play(t, child...)
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: []agent.Definition{kind("scout")},
		Model:       func(string) (model.Model, error) { return kids, nil },
		Tools: func(context.Context, agent.SubagentRequest) (agent.SubagentSetup, error) {
			return agent.SubagentSetup{Tools: registry(t), OnEnd: func(context.Context) string { return "its checkout stays" }}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newAgent(t, play(t, steps...), agent.Options{Sessions: sessions(t), Tools: registry(t, subs.Tool()), Subagents: subs}), subs
}

func noticed(all []event.Event, text string) bool {
	return slices.ContainsFunc(all, func(e event.Event) bool {
		n, is := e.(event.Notice)
		return is && strings.Contains(n.Text, text)
	})
}

// Of two teammates that are started with the same name at the same time, one is rejected, and its setup
// is closed.
func TestTeammateNameTaken(t *testing.T) {
	a, subs := agentWithRemains(t, []step{{text: "so"}})
	if _, err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := agent.TeammateOptions{Name: "bee", Kind: kind("scout")}
	first := h
	first.Before = func(ctx context.Context, _ *agent.Teammate) error {
		_, err := subs.StartTeammate(ctx, h)
		return err
	}
	if _, err := subs.StartTeammate(t.Context(), first); !errors.Is(err, agent.ErrNameTaken) {
		t.Errorf("the second of the name: %v", err)
	}
	if n := len(subs.Teammates()); n != 1 {
		t.Errorf("%d teammates", n)
	}
	if all := events(t, a, "go"); !noticed(all, "its checkout stays") {
		t.Error("no notice about what remains")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// What remains of a sub-agent is reported to the user if no result can report it to the model.
func TestInterruptedSubagentReports(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	a, _ := agentWithRemains(t, []step{{uses: []transcript.ToolUse{delegate("c1", "scout", "go", "")}}, {text: "so"}},
		step{text: "never", during: func(ctx context.Context) { stop(); <-ctx.Done() }})
	var all []event.Event
	for e, err := range a.Run(ctx, transcript.Text{Text: "begin"}) {
		if err != nil {
			break
		}
		all = append(all, e)
	}
	all = append(all, events(t, a, "and now")...)
	if text, _ := resultText(t, a, "c1"); !strings.Contains(text, "its checkout stays") && !noticed(all, "its checkout stays") {
		t.Errorf("neither the model (%q) nor the user is notified", text)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// StartTeammate during Close returns ErrClosed.
func TestStartTeammateDuringClose(t *testing.T) {
	a, subs := agentWithRemains(t, []step{{text: "so"}})
	if _, err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := subs.StartTeammate(t.Context(), agent.TeammateOptions{Name: "bee", Kind: kind("scout"), Before: func(context.Context, *agent.Teammate) error { return a.Close() }})
	if !errors.Is(err, agent.ErrClosed) || errors.Is(err, agent.ErrNameTaken) {
		t.Errorf("got %v", err)
	}
	if n := len(subs.Teammates()); n != 0 {
		t.Errorf("%d teammates", n)
	}
}
