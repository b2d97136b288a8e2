package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestPromptHooks(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		m := play(t, step{text: "done"})
		r := registryWith(t, hook.UserPromptSubmit, returning(hook.Output{Context: "it is Friday"}))
		if err := r.HandleFunc(hook.SessionStart, "", returning(hook.Output{Context: "branch main", SessionTitle: "Friday"})); err != nil {
			t.Fatal(err)
		}
		sessions := session.New(memory.New(), nil)
		a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: r}, Sessions: sessions})
		prompt(t, a, "go")
		var texts []string
		for _, e := range m.items(&m.asked[0]) {
			texts = append(texts, e.Text())
		}
		if got := strings.Join(texts, "|"); !strings.Contains(got, "branch main|") || !strings.HasSuffix(got, "it is Friday|go") {
			t.Errorf("the model read %q", got)
		}
		meta, err := sessions.Get(t.Context(), a.SessionID())
		if err != nil || meta.Title != "Friday" {
			t.Errorf("title %q, %v", meta.Title, err)
		}
	})
	t.Run("block", func(t *testing.T) {
		sessions := session.New(memory.New(), nil)
		r := registryWith(t, hook.UserPromptSubmit, returning(hook.Output{Block: true, Reason: "no secrets here"}))
		a := newAgent(t, play(t), agent.Options{Hooks: agent.Hooks{Registry: r}, Sessions: sessions})
		all := events(t, a, "the secret plan")
		res := last(t, all)
		var he *event.Error
		if res.Reason != event.ReasonHook || !errors.As(res.Err, &he) || he.HookReason != "no secrets here" {
			t.Errorf("ended by %s: %v", res.Reason, res.Err)
		}
		if err := a.Submit(t.Context(), transcript.Text{Text: "the secret plan"}); !errors.As(err, &he) {
			t.Errorf("submit: %v", err)
		}
		for _, k := range record.Kinds() {
			for _, p := range payloads(t, sessions, a.SessionID(), session.Kind(k)) {
				if strings.Contains(p, "secret plan") {
					t.Errorf("the blocked prompt was recorded: %s", p)
				}
			}
		}
	})
	t.Run("first message", func(t *testing.T) {
		m := play(t, step{text: "done"})
		a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: registryWith(t, hook.SessionStart, returning(hook.Output{InitialMessage: "say hello"}))}})
		for _, err := range a.Run(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if items := m.items(&m.asked[0]); items[len(items)-1].Text() != "say hello" {
			t.Errorf("the model read %v", roles(items))
		}
	})
}

func TestStopHooks(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		m := play(t, step{text: "half"}, step{text: "whole"})
		var active []bool
		r := registryWith(t, hook.Stop, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			active = append(active, in.End.StopHookActive)
			return &hook.Output{Block: !in.End.StopHookActive, Reason: "the tests fail"}, nil
		})
		res := prompt(t, newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: r}}), "go")
		items := m.items(&m.asked[1])
		if res.Text != "half\nwhole" || !slices.Equal(active, []bool{false, true}) || !strings.Contains(items[len(items)-1].Text(), "the tests fail") {
			t.Errorf("%q, %v", res.Text, active)
		}
	})
	t.Run("capped", func(t *testing.T) {
		m := play(t, slices.Repeat([]step{{text: "x"}}, 20)...)
		a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: registryWith(t, hook.Stop, returning(hook.Output{Block: true, Reason: "more"}))}})
		all := events(t, a, "go")
		reported := slices.ContainsFunc(all, func(e event.Event) bool {
			n, ok := e.(event.Notice)
			return ok && strings.Contains(n.Text, "8 times")
		})
		if len(m.asked) != 9 || !reported || last(t, all).Reason != event.ReasonCompleted {
			t.Errorf("%d model calls, got %v", len(m.asked), reported)
		}
	})
	t.Run("every end", func(t *testing.T) {
		w := newHookRecorder(t)
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`)}})
		var e echo
		res := prompt(t, newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: w.Registry}, Limits: agent.Limits{MaxTurns: 1}, Tools: registry(t, e.tool("Edit"))}), "go")
		if got := w.of(hook.Stop); len(got) != 1 || got[0].Reason != string(res.Reason) || res.Reason != event.ReasonMaxTurns {
			t.Errorf("%+v", got)
		}
	})
}

func TestHookEndsTurn(t *testing.T) {
	for _, e := range []hook.Event{hook.PreToolUse, hook.PostToolUse, hook.PostToolBatch} {
		t.Run(string(e), func(t *testing.T) {
			var tools echo
			m := play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`), use("c2", "Edit", `{}`)}}, step{text: "not reached"})
			out := hook.Output{Stop: true, StopReason: "enough"}
			a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: registryWith(t, e, returning(out))}, Tools: registry(t, tools.tool("Edit"))})
			res := prompt(t, a, "go")
			var he *event.Error
			if len(m.asked) != 1 || res.Reason == event.ReasonCompleted || e != hook.PreToolUse && !errors.As(res.Err, &he) {
				t.Errorf("%d model calls, ended by %s: %v", len(m.asked), res.Reason, res.Err)
			}
			if got := results(t, a); len(got) != 2 {
				t.Errorf("%d results", len(got))
			}
		})
	}
}

// A SessionStart hook ends the first turn before the model is called.
func TestSessionStartHookEndsFirstTurn(t *testing.T) {
	for _, e := range []hook.Event{hook.Setup, hook.SessionStart} {
		m := play(t, step{text: "the second"})
		a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: registryWith(t, e, returning(hook.Output{Stop: true, StopReason: "not here"}))}})
		res := prompt(t, a, "go")
		var he *event.Error
		if len(m.asked) != 0 || res.Reason != event.ReasonHook || !errors.As(res.Err, &he) || he.HookReason != "not here" {
			t.Errorf("%s: %d model calls, ended by %s: %v", e, len(m.asked), res.Reason, res.Err)
		}
		if res = prompt(t, a, "again"); res.Reason != event.ReasonCompleted {
			t.Errorf("%s: the second turn: %+v", e, res)
		}
	}
}
