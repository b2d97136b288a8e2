package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type hookFunc = func(context.Context, hook.Input) (*hook.Output, error)

// registryWith returns a registry with one function.
func registryWith(t testing.TB, e hook.Event, f hookFunc) *hook.Registry {
	t.Helper()
	r := hook.New(nil)
	t.Cleanup(func() { _ = r.Close() })
	if err := r.HandleFunc(e, "", f); err != nil {
		t.Fatal(err)
	}
	return r
}

func returning(o hook.Output) hookFunc {
	return func(context.Context, hook.Input) (*hook.Output, error) { return &o, nil }
}

// echo is a tool that records its inputs.
type echo struct{ ran []string }

func (e *echo) tool(name string) probe {
	return probe{name: name, run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		e.ran = append(e.ran, string(c.Input))
		return tool.Text("ran " + string(c.Input)), nil
	}}
}

func rules(t testing.TB, effect policy.Effect, text string) *policy.Rules {
	t.Helper()
	r, _, err := policy.RuleOptions{Cwd: "/p"}.Compile([]policy.RuleSource{{Effect: effect, Text: text, Layer: layernames.User, File: "settings.json", Line: 3}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPreToolUseOutcomes(t *testing.T) {
	in := policy.ModeDefault
	for _, c := range []struct {
		name     string
		event    hook.Event
		out      hook.Output
		p        policy.Config
		ran      bool
		reported string // part of the result
		by       string // the actor of the decision
	}{
		{"block", hook.PreToolUse, hook.Output{Block: true, Reason: "not today", Message: "log"}, policy.Config{Mode: policy.ModeBypass}, false, "not today", "hook"},
		{"block without a reason", hook.PreToolUse, hook.Output{Block: true}, policy.Config{Mode: policy.ModeBypass}, false, "Tool execution blocked by hook", "hook"},
		{"decision block", hook.PreToolUse, hook.Output{Decision: "block", Message: "m"}, policy.Config{Mode: policy.ModeBypass}, false, "m", "hook"},
		{"deny", hook.PreToolUse, hook.Output{Permission: "deny", PermissionReason: "no"}, policy.Config{Mode: policy.ModeBypass}, false, "no", "hook"},
		{"ask beats bypass", hook.PreToolUse, hook.Output{Permission: "ask", PermissionReason: "look"}, policy.Config{Mode: policy.ModeBypass}, false, "no one can answer", "nobody"},
		{"allow overrides the mode's ask", hook.PreToolUse, hook.Output{Permission: "allow"}, policy.Config{Mode: in}, true, "ran", "hook"},
		{"decision approve", hook.PreToolUse, hook.Output{Decision: "approve"}, policy.Config{Mode: in}, true, "ran", "hook"},
		{"allow against a deny rule", hook.PreToolUse, hook.Output{Permission: "allow"}, policy.Config{Mode: in, Rules: rules(t, policy.Deny, "Edit")}, false, "denied", "rules"},
		{"allow against an ask rule", hook.PreToolUse, hook.Output{Permission: "allow"}, policy.Config{Mode: in, Rules: rules(t, policy.Ask, "Edit")}, false, "no one can answer", "nobody"},
		{"allow against plan mode", hook.PreToolUse, hook.Output{Permission: "allow"}, policy.Config{Mode: policy.ModePlan}, false, "", ""},
		{"allow against dontAsk", hook.PreToolUse, hook.Output{Permission: "allow"}, policy.Config{Mode: policy.ModeDontAsk}, false, "", ""},
		{"context", hook.PreToolUse, hook.Output{Context: "mind the gap"}, policy.Config{Mode: policy.ModeBypass}, true, "mind the gap", ""},
		{"system message", hook.PreToolUse, hook.Output{SystemMessage: "stay inside"}, policy.Config{Mode: policy.ModeBypass}, true, "stay inside", ""},
		{"stop", hook.PreToolUse, hook.Output{Stop: true, StopReason: "enough"}, policy.Config{Mode: policy.ModeBypass}, false, "enough", "hook"},

		{"request: allow", hook.PermissionRequest, hook.Output{Permission: "allow"}, policy.Config{Mode: in}, true, "ran", "hook"},
		{"request: deny", hook.PermissionRequest, hook.Output{Permission: "deny", PermissionReason: "no"}, policy.Config{Mode: in}, false, "no", "hook"},
		{"request: block", hook.PermissionRequest, hook.Output{Block: true, Reason: "no"}, policy.Config{Mode: in}, false, "no", "hook"},
		{"request: allow against an ask rule", hook.PermissionRequest, hook.Output{Permission: "allow"}, policy.Config{Mode: in, Rules: rules(t, policy.Ask, "Edit")}, false, "no one can answer", "nobody"},
		{"request: other input", hook.PermissionRequest, hook.Output{Permission: "allow", Input: json.RawMessage(`{"b":2}`)}, policy.Config{Mode: in}, true, `ran {"b":2}`, "hook"},
		{"request: nothing", hook.PermissionRequest, hook.Output{}, policy.Config{Mode: in}, false, "no one can answer", "nobody"},

		{"denied: retry", hook.PermissionDenied, hook.Output{Retry: true}, policy.Config{Mode: policy.ModeDontAsk}, false, "may retry", ""},

		{"output", hook.PostToolUse, hook.Output{ToolOutput: json.RawMessage(`"redone"`)}, policy.Config{Mode: policy.ModeBypass}, true, "redone", ""},
		{"output as JSON", hook.PostToolUse, hook.Output{ToolOutput: json.RawMessage(`{"result":1}`)}, policy.Config{Mode: policy.ModeBypass}, true, `{"result":1}`, ""},
		{"feedback", hook.PostToolUse, hook.Output{Block: true, Reason: "lint fails"}, policy.Config{Mode: policy.ModeBypass}, true, "lint fails", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e echo
			c.p.Folders = []string{"/p"}
			a := newAgent(t, calls(t, "Edit", `{"a":1}`), agent.Options{
				Tools: registry(t, e.tool("Edit")), Permissions: agent.Permissions{Config: c.p}, Hooks: agent.Hooks{Registry: registryWith(t, c.event, returning(c.out))},
			})
			res := prompt(t, a, "go")
			got := results(t, a)["c1"]
			if (len(e.ran) > 0) != c.ran || !strings.Contains(got.Text(), c.reported) || got.IsError == c.ran {
				t.Errorf("ran %v, got %q", e.ran, got.Text())
			}
			if !c.ran && c.by != "" && (len(res.Denials) != 1 || !strings.HasPrefix(res.Denials[0].By, c.by)) {
				t.Errorf("denied by %+v, want %s", res.Denials, c.by)
			}
			if (res.Reason == event.ReasonCompleted) == c.out.Stop {
				t.Errorf("ended by %s", res.Reason)
			}
		})
	}
}

func TestHookInputJudged(t *testing.T) {
	for _, c := range []struct {
		name, input string
		p           policy.Config
		ran         string
	}{
		{"allowed", `{"command":"ls -l"}`, policy.Config{Mode: policy.ModeBypass}, `{"command":"ls -l"}`},
		{"denied by a rule", `{"command":"rm -rf x"}`, policy.Config{Mode: policy.ModeBypass, Rules: rules(t, policy.Deny, "Bash(rm:*)")}, ""},
		{"needs approval by a rule", `{"command":"git push"}`, policy.Config{Mode: policy.ModeBypass, Rules: rules(t, policy.Ask, "Bash(git push:*)")}, ""},
		{"same input, other spelling", `{ "command": "make" }`, policy.Config{Mode: policy.ModeBypass}, `{"command":"make"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := command("Bash")
			sessions := session.New(memory.New(), nil)
			c.p.Folders = []string{"/p"}
			a := newAgent(t, calls(t, "Bash", `{"command":"make"}`), agent.Options{
				Sessions: sessions, Tools: registry(t, b), Permissions: agent.Permissions{Config: c.p},
				Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, returning(hook.Output{Input: json.RawMessage(c.input)}))},
			})
			prompt(t, a, "go")
			var ran string
			if len(b.inputs) > 0 {
				ran = b.inputs[0]
			}
			if ran != c.ran {
				t.Errorf("ran %q, want %q", ran, c.ran)
			}
			decided := payloads(t, sessions, a.SessionID(), record.KindDecision)
			if len(decided) != 1 || c.ran != "" && !strings.Contains(decided[0], c.ran) {
				t.Errorf("recorded: %v", decided)
			}
		})
	}
}

// hookRunner is a hook runner made of a function.
type hookRunner func(in *hook.Input) hook.RunResult

func (o hookRunner) Run(_ context.Context, _ *hook.Definition, in *hook.Input) (hook.RunResult, error) {
	return o(in), nil
}

// TestObserversAfterDurable checks that hooks outside the host see a call only after it and the previous
// result are durable.
func TestObserversAfterDurable(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	var e echo
	var a *agent.Agent
	hookRuns := 0
	r := hook.New(&hook.Options{Runner: hookRunner(func(in *hook.Input) hook.RunResult {
		hookRuns++
		var on []string
		for r, err := range sessions.Records(t.Context(), a.SessionID(), session.Range{}) {
			if err != nil {
				t.Error(err)
			}
			on = append(on, string(r.Payload))
		}
		all := strings.Join(on, "\n")
		if !strings.Contains(all, `"id":"`+in.Tool.UseID+`"`) || hookRuns == 2 && !strings.Contains(on[len(on)-1], `"use_id":"c1"`) {
			t.Errorf("hook %d: recorded\n%s", hookRuns, all)
		}
		return hook.RunResult{}
	})})
	if err := r.Register(hook.Definition{Event: hook.PreToolUse, Command: "true"}); err != nil {
		t.Fatal(err)
	}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`), use("c2", "Edit", `{}`)}}, step{text: "done"})
	a = newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, e.tool("Edit")), Hooks: agent.Hooks{Registry: r}})
	prompt(t, a, "go")
	if hookRuns != 2 || len(e.ran) != 2 {
		t.Errorf("hook ran %d times, tool %d times", hookRuns, len(e.ran))
	}
}

func TestHooksRecorded(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	var e echo
	a := newAgent(t, calls(t, "Edit", `{}`), agent.Options{
		Sessions: sessions, Tools: registry(t, e.tool("Edit")),
		Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, returning(hook.Output{Block: true, Reason: "no"}))},
	})
	all := events(t, a, "go")
	i := slices.IndexFunc(all, func(e event.Event) bool { _, ok := e.(event.HookRan); return ok })
	if i < 0 {
		t.Fatalf("no event: %v", all)
	}
	got := payloads(t, sessions, a.SessionID(), record.KindHookRan)
	if len(got) != 1 || !strings.Contains(got[0], `"effect":"block"`) || !strings.Contains(got[0], `"use_id":"c1"`) {
		t.Errorf("recorded: %v", got)
	}
	order := kinds(t, sessions, a.SessionID())
	if slices.Index(order, record.KindHookRan) > slices.Index(order, record.KindDecision) {
		t.Errorf("order %v", order)
	}
}

func TestDeferredCallAskedAgain(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	var e echo
	later := false
	fired := 0
	r := registryWith(t, hook.PreToolUse, func(context.Context, hook.Input) (*hook.Output, error) {
		fired++
		if later {
			return nil, nil
		}
		return &hook.Output{Permission: "defer", PermissionReason: "come back"}, nil
	})
	o := agent.Options{Sessions: sessions, Tools: registry(t, e.tool("Edit")), Hooks: agent.Hooks{Registry: r}}
	a := newAgent(t, calls(t, "Edit", `{}`), o)
	if res := prompt(t, a, "go"); res.Reason != event.ReasonDeferred || len(e.ran) > 0 {
		t.Fatalf("ended by %s, ran %v", res.Reason, e.ran)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	later = true
	o.Session = session.RestoreOptions{SessionID: a.SessionID()}
	b := newAgent(t, play(t, step{text: "done"}), o)
	var res event.Result
	for ev, err := range b.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ev.(event.Result); ok {
			res = r
		}
	}
	if res.Reason != event.ReasonCompleted || len(e.ran) != 1 || fired != 2 {
		t.Errorf("ended by %s, ran %v, fired %d", res.Reason, e.ran, fired)
	}
	// In the same process, too.
	later = false
	c := newAgent(t, calls(t, "Edit", `{}`), agent.Options{Sessions: sessions, Tools: registry(t, e.tool("Edit")), Hooks: agent.Hooks{Registry: r}})
	prompt(t, c, "go")
	later = true
	for ev, err := range c.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ev.(event.Result); ok && r.Reason != event.ReasonCompleted {
			t.Errorf("ended by %s", r.Reason)
		}
	}
	if len(e.ran) != 2 {
		t.Errorf("ran %d", len(e.ran))
	}
}

func TestSilentHooksLeaveApproval(t *testing.T) {
	var e echo
	asked := 0
	w := newHookRecorder(t)
	a := newAgent(t, calls(t, "Edit", `{}`), agent.Options{
		Tools: registry(t, e.tool("Edit")), Permissions: agent.Permissions{
			Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}},
			Ask: func(context.Context, approval.Request) (approval.Answer, error) {
				asked++
				return approval.Answer{Decision: approval.Allow}, nil
			},
		}, Hooks: agent.Hooks{Registry: w.Registry},
	})
	prompt(t, a, "go")
	if asked != 1 || len(e.ran) != 1 || len(w.of(hook.PermissionRequest)) != 1 || len(w.of(hook.PreToolUse)) != 1 {
		t.Errorf("asked %d, ran %d, %v", asked, len(e.ran), w.order())
	}
}

func TestSecretsMaskedInRecords(t *testing.T) {
	m, err := secret.New(&secret.Options{NoBuiltin: true, Patterns: []secret.Pattern{{ID: "test", Words: []string{"tok_"}, Expr: `tok_[a-z0-9]{8}`}}})
	if err != nil {
		t.Fatal(err)
	}
	const key = "tok_abcd1234"
	if masked, _ := m.Text(key); masked == key {
		t.Fatalf("the pattern finds nothing in %q", key)
	}
	sessions := session.New(memory.New(), nil)
	e := &echo{}
	asked := ""
	fakeModel := calls(t, "Edit", `{"token":"`+key+`"}`)
	a := newAgent(t, fakeModel, agent.Options{
		Sessions: sessions, Mask: m, Tools: registry(t, e.tool("Edit")),
		Permissions: agent.Permissions{
			Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}},
			Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
				asked = q.Requests[0].Resource
				return approval.Answer{Decision: approval.Allow}, nil
			},
		},
	})
	prompt(t, a, "my key is "+key)
	if len(e.ran) != 1 || !strings.Contains(e.ran[0], key) {
		t.Errorf("the call ran with %q", e.ran)
	}
	if asked == "" {
		t.Error("no approval was requested")
	}
	for r, err := range sessions.Records(t.Context(), a.SessionID(), session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(r.Payload), key) {
			t.Errorf("record %d (%s) holds the key: %s", r.Seq, r.Kind, r.Payload)
		}
	}
	for _, req := range fakeModel.asked {
		for _, it := range fakeModel.items(&req) {
			if strings.Contains(string(it.JSON), key) {
				t.Errorf("the model was sent the key: %s", it.JSON)
			}
		}
	}
}

// A hook's allow applies only to the input that the hook saw. If something changes the input, the hook
// runs again, and its new verdict applies.
func TestHookAllowBoundToInput(t *testing.T) {
	const was, is = `{"a":1}`, `{"b":2}`
	allows := func(inputs ...string) hookFunc {
		return func(_ context.Context, in hook.Input) (*hook.Output, error) {
			if slices.Contains(inputs, string(in.Tool.Input)) {
				return &hook.Output{Permission: "allow"}, nil
			}
			return nil, nil
		}
	}
	denies := func(input string) hookFunc {
		return func(_ context.Context, in hook.Input) (*hook.Output, error) {
			if string(in.Tool.Input) == input {
				return &hook.Output{Permission: "deny", PermissionReason: "the guard says no"}, nil
			}
			return nil, nil
		}
	}
	changes := returning(hook.Output{Input: json.RawMessage(is)})
	request := returning(hook.Output{Permission: "allow", Input: json.RawMessage(is)})
	type hooks struct{ pre, request []hookFunc }
	callback := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(is)}, nil
	}
	for _, c := range []struct {
		name     string
		hooks    hooks
		p        policy.Config
		ran      string
		reported string
	}{
		{"other hook changes input", hooks{pre: []hookFunc{allows(was), changes}}, policy.Config{}, "", "no one can answer"},
		{"other hook changes and allows input", hooks{pre: []hookFunc{allows(was, is), changes}}, policy.Config{}, is, ""},
		{"guard before the changing hook", hooks{pre: []hookFunc{denies(is), changes}}, policy.Config{Mode: policy.ModeBypass}, "", "the guard says no"},
		{"PermissionRequest changes input", hooks{pre: []hookFunc{allows(was)}, request: []hookFunc{request}}, policy.Config{Rules: rules(t, policy.Ask, "Edit")}, "", "no one can answer"},
		{"PermissionRequest changes input, guard denies", hooks{pre: []hookFunc{denies(is)}, request: []hookFunc{request}}, policy.Config{}, "", "the guard says no"},
		{"two PermissionRequest hooks change input", hooks{request: []hookFunc{denies(is), request}}, policy.Config{}, "", "the guard says no"},
		{"callback changes input", hooks{pre: []hookFunc{allows(was)}}, policy.Config{CanUseTool: callback}, is, ""}, // the callback itself allows it
		{"callback changes input, guard denies", hooks{pre: []hookFunc{allows(was), denies(is)}}, policy.Config{CanUseTool: callback}, "", "the guard says no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := hook.New(nil)
			t.Cleanup(func() { _ = r.Close() })
			for _, f := range c.hooks.pre {
				if err := r.HandleFunc(hook.PreToolUse, "", f); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range c.hooks.request {
				if err := r.HandleFunc(hook.PermissionRequest, "", f); err != nil {
					t.Fatal(err)
				}
			}
			var e echo
			c.p.Folders = []string{"/p"}
			if c.p.Mode == "" {
				c.p.Mode = policy.ModeDefault
			}
			a := newAgent(t, calls(t, "Edit", was), agent.Options{Tools: registry(t, e.tool("Edit")), Permissions: agent.Permissions{Config: c.p}, Hooks: agent.Hooks{Registry: r}})
			prompt(t, a, "go")
			ran := ""
			if len(e.ran) > 0 {
				ran = e.ran[0]
			}
			if got := results(t, a)["c1"].Text(); ran != c.ran || !strings.Contains(got, c.reported) {
				t.Errorf("ran %q, want %q; got %q", ran, c.ran, got)
			}
		})
	}
}

// An input from the approver is passed to the PreToolUse hooks again.
func TestApproverInputRefiresHooks(t *testing.T) {
	for _, c := range []struct{ name, input, ran, reported string }{
		{"other input", `{"b":2}`, `{"b":2}`, "ran"},
		{"input that a hook denies", `{"b":3}`, "", "the guard says no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e echo
			a := newAgent(t, calls(t, "Edit", `{"a":1}`), agent.Options{
				Tools: registry(t, e.tool("Edit")), Permissions: agent.Permissions{
					Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}},
					Ask: func(context.Context, approval.Request) (approval.Answer, error) {
						return approval.Answer{Decision: approval.Allow, Input: json.RawMessage(c.input)}, nil
					},
				},
				Hooks: agent.Hooks{Registry: registryWith(t, hook.PreToolUse, func(_ context.Context, in hook.Input) (*hook.Output, error) {
					if string(in.Tool.Input) == `{"b":3}` {
						return &hook.Output{Block: true, Reason: "the guard says no"}, nil
					}
					return &hook.Output{Input: json.RawMessage(`{"a":"of the hook"}`)}, nil // ignored for an input from the approver
				})},
			})
			prompt(t, a, "go")
			if got := results(t, a)["c1"].Text(); strings.Join(e.ran, "") != c.ran || !strings.Contains(got, c.reported) {
				t.Errorf("ran %q, want %q; got %q", e.ran, c.ran, got)
			}
		})
	}
}
