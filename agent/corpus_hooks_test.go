package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// TestCorpusHooks plays the cases that need an agent. Package hook plays those of the registry.
func TestCorpusHooks(t *testing.T) {
	named := map[string]string{}
	for _, n := range strings.Fields("026 028 029 030 031 032 033 034 035 041 042 043 045 046 049 050 051 055 057 059 061 065 083") {
		named["hook_registry-"+n] = "it is about the registry alone: package hook has it"
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "hook_registry"),
		map[string]func(*testing.T, corpus.Case){
			"hook_registry":     hookCase,
			"hook_registry-063": corpus.Test(`{"settings": {"hooks":["stop","sessionEnd"]}, "input": {"op":"prompt"}, "expect": {"events":["stop","sessionEnd"]}}`, hookCase),
			"hook_registry-068": corpus.Test(`{"settings": {"hooks":[{"output":"permissionDecision=allow"}]}, "input": {"tool":"Bash"}, "expect": {"effect":"permission check skipped (subject to policy)"}}`, hookCase),
			"hook_registry-070": corpus.Test(`{"settings": {"hooks":[{"output":"permissionUpdate{tool,behavior}"}]}, "input": {"tool":"Bash"}, "expect": {"effect":"later calls of that tool follow the new rule"}}`, hookCase),
			"hook_registry-071": corpus.Test(`{"settings": {"hooks":[{"output":"systemMessage"}]}, "input": {"tool":"Bash"}, "expect": {"effect":"injected into the conversation"}}`, hookCase),
		}, named)
}

func hookCase(t *testing.T, c corpus.Case) {
	var in struct {
		Event, Tool, Op string
	}
	_ = json.Unmarshal(c.Input(), &in) // some are not objects
	expect := map[string]json.RawMessage{}
	_ = json.Unmarshal(c.Expect(), &expect)
	field, isEffect := strings.CutPrefix(c.Name, "output field effect: ")
	switch {
	case isEffect:
		effectCase(t, field)
	case expect["fired"] != nil:
		firedCase(t, in.Event, string(expect["fired"]) == "true")
	case in.Event != "":
		inputCase(t, c, in.Event, expect)
	case in.Op == "prompt":
		promptCase(t, c)
	case in.Tool != "" && (expect["content"] != nil || expect["executed"] != nil):
		callCase(t, c, in.Tool, expect)
	default:
		t.Fatalf("unknown case: %s", c.Raw)
	}
}

// firedCase checks that the event is fired by a real run, or by a tool in place of the part that fires
// it.
func firedCase(t *testing.T, name string, want bool) {
	event, err := hook.Event(name).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range eventCases(t) {
		if s.event != event {
			continue
		}
		found = true
		if got := len(s.run(t).of(event)) > 0; got != want {
			t.Errorf("%s fired: %v, want %v", event, got, want)
		}
		if s.later != "" {
			t.Logf("by the host's tool, until there are %s", s.later)
		}
	}
	if !found {
		t.Errorf("no run makes %s happen", event)
	}
}

// inputCase checks the input of an event.
func inputCase(t *testing.T, c corpus.Case, name string, expect map[string]json.RawMessage) {
	event, err := hook.Event(name).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var settings struct{ SessionID, PermissionMode string }
	c.Decode(t, c.Settings(), &settings)
	var wants map[string]string
	_ = json.Unmarshal(c.Expect(), &wants)
	for _, s := range eventCases(t) {
		if s.event != event {
			continue
		}
		s.o.Session = session.RestoreOptions{SessionID: settings.SessionID, Opened: session.Opened{CWD: t.TempDir()}}
		if settings.PermissionMode != "" {
			s.o.Permissions.Config.Mode = policy.Mode(settings.PermissionMode)
		}
		saw := s.run(t).of(event)
		if len(saw) == 0 {
			t.Fatalf("%s was not fired", event)
		}
		has := sdkFields(saw[0])
		for key, want := range wants {
			if has[key] != want {
				t.Errorf("%s is %q, want %q", key, has[key], want)
			}
		}
		var set []string
		if expect["set"] != nil {
			c.Decode(t, expect["set"], &set)
		}
		for _, key := range set {
			if has[key] == "" {
				t.Errorf("%s is not set: %+v", key, saw[0])
			}
		}
		return
	}
	t.Fatalf("no run makes %s happen", event)
}

// sdkFields returns the fields of an input by the Open Agent SDK's names.
func sdkFields(in hook.Input) map[string]string {
	f := map[string]string{
		"event": in.Event.Spelled("seed"), "sessionId": in.SessionID, "cwd": in.CWD, "permissionMode": in.PermissionMode,
		"toolName": in.Tool.Name, "toolInput": string(in.Tool.Input), "toolUseId": in.Tool.UseID, "toolOutput": in.Tool.Output,
		"error": in.Tool.Error, "agentId": in.Agent, "agentType": in.AgentType, "trigger": in.Trigger,
		"lastAssistantMessage": in.End.LastMessage, "transcriptPath": in.TranscriptPath, "permissionSuggestions": string(in.Tool.Suggestions),
	}
	if in.Event == hook.Stop || in.Event == hook.SubagentStop {
		f["stopHookActive"] = map[bool]string{true: "true", false: "false"}[in.End.StopHookActive]
	}
	return f
}

// promptCase checks that a prompt fires these events in this order.
func promptCase(t *testing.T, c corpus.Case) {
	var expect struct{ Events []string }
	c.Decode(t, c.Expect(), &expect)
	w := (&eventCase{event: hook.Stop, m: play(t, step{text: "ok"})}).run(t)
	var got []string
	for _, e := range w.order() {
		if name := e.Spelled("seed"); slices.Contains(expect.Events, name) {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, expect.Events) {
		t.Errorf("fired %v, want %v", got, expect.Events)
	}
}

// callCase checks a call with these hooks.
func callCase(t *testing.T, c corpus.Case, name string, expect map[string]json.RawMessage) {
	synctest.Test(t, func(t *testing.T) { // hooks may sleep
		var settings struct {
			Hooks []struct {
				Matcher, Message, Reason, Would string
				Block                           bool
				SleepMS                         int  `json:"sleep_ms"`
				TimeoutMS                       *int `json:"timeout_ms"`
			}
		}
		c.Decode(t, c.Settings(), &settings)
		r := hook.New(nil)
		for _, h := range settings.Hooks {
			d := hook.Definition{Event: hook.PreToolUse, Dialect: "seed", Matcher: h.Matcher, Func: func(ctx context.Context, _ hook.Input) (*hook.Output, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(time.Duration(h.SleepMS) * time.Millisecond):
				}
				return &hook.Output{Block: h.Block || h.Would == "block", Message: h.Message, Reason: h.Reason}, nil
			}}
			if h.TimeoutMS != nil {
				d.Timeout = time.Duration(max(1, *h.TimeoutMS)) * time.Millisecond
			}
			if err := r.Register(d); err != nil {
				t.Fatal(err)
			}
		}
		var e echo
		a := newAgent(t, calls(t, name, `{"command":"make"}`), agent.Options{Hooks: agent.Hooks{Registry: r}, Tools: registry(t, e.tool(name))})
		prompt(t, a, "go")
		got := results(t, a)["c1"]
		if want := expect["executed"]; want != nil && (len(e.ran) > 0) != (string(want) == "true") {
			t.Errorf("executed %v, want %s: %s", e.ran, want, got.Text())
		}
		var content string
		if expect["content"] != nil {
			c.Decode(t, expect["content"], &content)
		}
		if !strings.Contains(got.Text(), strings.TrimPrefix(content, "Error: ")) || strings.HasPrefix(content, "Error: ") && !got.IsError {
			t.Errorf("got %q, want %q", got.Text(), content)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// effectCase checks the effect of a field of a hook's output.
func effectCase(t *testing.T, field string) {
	name, value, _ := strings.Cut(field, "=")
	name, _, _ = strings.Cut(name, "{")
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimSpace(name)
	moment, mode, out := hook.PreToolUse, policy.ModeBypass, hook.Output{}
	var holds func(e *echo, m *fake, reported string, all []event.Event) bool
	blocked := func(e *echo, _ *fake, reported string, _ []event.Event) bool {
		return len(e.ran) == 0 && strings.Contains(reported, "because")
	}
	reads := func(text string) func(*echo, *fake, string, []event.Event) bool {
		return func(_ *echo, m *fake, _ string, _ []event.Event) bool {
			return slices.ContainsFunc(m.items(&m.asked[len(m.asked)-1]), func(e transcript.Encoded) bool { return strings.Contains(string(e.JSON), text) })
		}
	}
	switch name {
	case "block":
		out, holds = hook.Output{Block: true, Reason: "because"}, blocked
	case "reason":
		out, holds = hook.Output{Decision: "block", Reason: "because", Message: "log"}, blocked
	case "decision":
		out, holds = hook.Output{Decision: "block", Reason: "because"}, blocked
		if value == "approve" {
			mode, out = policy.ModeDefault, hook.Output{Decision: "approve"}
			holds = func(e *echo, _ *fake, _ string, _ []event.Event) bool { return len(e.ran) == 1 }
		}
	case "message":
		out = hook.Output{Message: "a word"}
		holds = func(_ *echo, _ *fake, _ string, all []event.Event) bool {
			return slices.ContainsFunc(all, func(e event.Event) bool {
				h, ok := e.(event.HookRan)
				return ok && slices.ContainsFunc(h.Ran.Messages, func(s record.HookNotice) bool { return s.Text == "a word" })
			})
		}
	case "permissionDecision":
		out = hook.Output{Permission: value, PermissionReason: "because"}
		switch value {
		case "allow":
			mode = policy.ModeDefault
			holds = func(e *echo, _ *fake, _ string, _ []event.Event) bool { return len(e.ran) == 1 }
		case "ask":
			holds = func(e *echo, _ *fake, reported string, _ []event.Event) bool {
				return len(e.ran) == 0 && strings.Contains(reported, "no one can answer")
			}
		default:
			holds = blocked
		}
	case "permissionUpdate":
		out = hook.Output{Updates: []hook.PermissionUpdate{{Rules: []string{"Bash"}, Behavior: "deny"}}}
		holds = func(e *echo, _ *fake, _ string, _ []event.Event) bool { return len(e.ran) == 0 }
	case "systemMessage":
		out, holds = hook.Output{SystemMessage: "stay inside"}, reads("stay inside")
	case "additionalContext":
		out, holds = hook.Output{Context: "it is Friday"}, reads("it is Friday")
	case "updatedInput":
		out = hook.Output{Input: json.RawMessage(`{"command":"echo safe"}`)}
		holds = func(e *echo, _ *fake, _ string, _ []event.Event) bool {
			return slices.Equal(e.ran, []string{`{"command":"echo safe"}`})
		}
	case "updatedMCPToolOutput", "updatedToolOutput":
		moment, out = hook.PostToolUse, hook.Output{ToolOutput: json.RawMessage(`{"result":"modified output"}`)}
		holds = reads("modified output")
	case "notification":
		out = hook.Output{Notification: &hook.UserNotification{Title: "t", Body: "b", Level: "bogus"}}
		holds = func(_ *echo, _ *fake, _ string, all []event.Event) bool {
			return slices.Contains(all, event.Event(event.Notification{Title: "t", Body: "b", Level: "info", By: "hook"}))
		}
	default:
		t.Fatalf("unknown field %q", field)
	}
	var e echo
	m := calls(t, "Bash", `{"command":"make"}`)
	a := newAgent(t, m, agent.Options{
		Sessions: session.New(memory.New(), nil), Tools: registry(t, tool.Tool(e.tool("Bash"))), Hooks: agent.Hooks{Registry: registryWith(t, moment, returning(out))},
		Permissions: agent.Permissions{Config: policy.Config{Mode: mode, Folders: []string{"/p"}}},
	})
	all := events(t, a, "go")
	if reported := results(t, a)["c1"].Text(); !holds(&e, m, reported, all) {
		t.Errorf("%s has no effect: ran %v, got %q", field, e.ran, reported)
	}
}
