package agent_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// durableJSON returns the JSON of the durable events. Only the message of an error is recorded.
func durableJSON(t testing.TB, all []event.Event) []string {
	t.Helper()
	var list []string
	for _, e := range all {
		if event.Provisional(e) {
			continue
		}
		if err := event.Err(e); err != nil {
			e = event.WithErr(e, &event.Error{Message: err.Error()})
		}
		b, err := event.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

// fromLog returns the events of a session's records after a seq.
func fromLog(t testing.TB, s *session.Sessions, id string) (all []event.Event) {
	t.Helper()
	var state recordevents.Reader
	for r, err := range s.Effective(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		list, err := state.Events(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// The durable events of a running agent are the events of its log, in the same order.
func TestLogGivesSameEvents(t *testing.T) {
	plan := policy.Config{Mode: policy.ModePlan}
	for name, tt := range map[string]struct {
		o     agent.Options
		steps []step
	}{
		"an answer":             {agent.Options{}, []step{{text: "hello"}}},
		"a call":                {agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}, []step{pushCall(1), {text: "ok"}}},
		"two calls":             {agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}, []step{pushCall(1), pushCall(2), {text: "ok"}}},
		"a denied call":         {agent.Options{Permissions: agent.Permissions{Config: plan}}, []step{pushCall(1), {text: "ok"}}},
		"an allowed call":       {agent.Options{Permissions: agent.Permissions{Config: plan, Ask: answers(approval.Allow)}}, []step{pushCall(1), {text: "ok"}}},
		"no":                    {agent.Options{Permissions: agent.Permissions{Config: plan, Ask: answers(approval.Deny)}}, []step{pushCall(1), {text: "ok"}}},
		"allow for the session": {agent.Options{Permissions: agent.Permissions{Config: plan, Ask: answers(approval.AllowSession)}}, []step{pushCall(1), pushCall(2), {text: "ok"}}},
		"deny for the session":  {agent.Options{Permissions: agent.Permissions{Config: plan, Ask: answers(approval.DenySession)}}, []step{pushCall(1), {text: "ok"}}},
		"hook text": {
			agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, returning(hook.Output{Message: "a word"}))}},
			[]step{pushCall(1), {text: "ok"}},
		},
		"a hook changes the input": {
			agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, returning(hook.Output{Input: json.RawMessage(`{"command":"ls"}`)}))}},
			[]step{pushCall(1), {text: "ok"}},
		},
		"a hook blocks": {
			agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, returning(hook.Output{Block: true, Reason: "because"}))}},
			[]step{pushCall(1), {text: "ok"}},
		},
		"unknown tool":   {agent.Options{}, []step{{uses: []transcript.ToolUse{use("a", "Nothing", `{}`)}}, {text: "ok"}}},
		"too many turns": {agent.Options{Limits: agent.Limits{MaxTurns: 1}, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}, []step{pushCall(1), {text: "ok"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.Sessions = session.New(memory.New(), nil)
			tt.o.Session.SessionID = "s"
			tt.o.Tools = registry(t, command("Bash"))
			all := events(t, newAgent(t, play(t, tt.steps...), tt.o), "go")
			got, want := durableJSON(t, fromLog(t, tt.o.Sessions, "s")), durableJSON(t, all)
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
				t.Errorf("events of the agent -, of the log +:\n%s", diff)
			}
			if again := durableJSON(t, fromLog(t, tt.o.Sessions, "s")); !slices.Equal(again, got) {
				t.Error("the same records gave other events")
			}
		})
	}
}
