package hook

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// cannedAnswers are the results of hooks, by the input that each hook sees.
type cannedAnswers []func(input string) *Output

func (list cannedAnswers) fire(t *testing.T, e Event, commands bool, adjust func(i int, d *Definition)) Outcome {
	t.Helper()
	r := New(&Options{Runner: runFunc(func(_ context.Context, d *Definition, in *Input) (RunResult, error) {
		return RunResult{Output: list[d.Command[0]-'a'](string(in.Tool.Input))}, nil
	})})
	for i, f := range list {
		d := Definition{Event: e, Name: string(rune('a' + i)), Command: string(rune('a' + i))}
		if !commands {
			d.Command, d.Func = "", func(_ context.Context, in Input) (*Output, error) { return f(string(in.Tool.Input)), nil }
		}
		if adjust != nil {
			adjust(i, &d)
		}
		if err := r.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	in := bash("git status")
	in.Event = e
	return r.Fire(t.Context(), in)
}

const pushes = `{"command":"git push"}`

// A permission applies to the input that its hook saw. An allow of another input is void, and the
// hooks before the one that changed the call run again with the new input.
func TestVerdictBoundToInput(t *testing.T) {
	always := func(o Output) func(string) *Output { return func(string) *Output { return &o } }
	pushing := always(Output{Input: json.RawMessage(pushes)})
	when := func(text string, o Output) func(string) *Output {
		return func(input string) *Output {
			if strings.Contains(input, text) {
				return &o
			}
			return nil
		}
	}
	allow, deny, ask := Output{Permission: "allow"}, Output{Permission: "deny"}, Output{Permission: "ask"}
	for name, tt := range map[string]struct {
		hooks cannedAnswers
		want  string // the permission, and by whom
	}{
		"an allow of another input":                 {cannedAnswers{when("status", allow), pushing}, ""},
		"an allow of every input":                   {cannedAnswers{always(allow), pushing}, "allow a"},
		"an allow after the change":                 {cannedAnswers{pushing, when("push", allow)}, "allow b"},
		"who changes it allows what it made":        {cannedAnswers{when("status", allow), always(Output{Input: json.RawMessage(pushes), Permission: "allow"})}, "allow b"},
		"the change is none":                        {cannedAnswers{when("status", allow), always(Output{Input: json.RawMessage(`{ "command": "git status" }`)})}, "allow a"},
		"a guard that had nothing to say before":    {cannedAnswers{when("push", deny), pushing}, "deny a"},
		"a guard against an allow of the changed":   {cannedAnswers{when("push", deny), always(Output{Input: json.RawMessage(pushes), Permission: "allow"})}, "deny a"},
		"a question about the changed":              {cannedAnswers{when("push", ask), pushing}, "ask a"},
		"a denial of the first input stays":         {cannedAnswers{when("status", deny), pushing}, "deny a"},
		"a question about the first input stays":    {cannedAnswers{when("status", ask), pushing, always(allow)}, "ask a"},
		"an allow of what a later one changes":      {cannedAnswers{always(Output{Input: json.RawMessage(pushes), Permission: "allow"}), always(Output{Input: json.RawMessage(`{"command":"rm x"}`)})}, ""},
		"two that change it, both allow":            {cannedAnswers{always(Output{Input: json.RawMessage(pushes), Permission: "allow"}), always(Output{Input: json.RawMessage(`{"command":"rm x"}`), Permission: "allow"})}, "allow b"},
		"changed and changed back by another":       {cannedAnswers{pushing, always(Output{Input: json.RawMessage(`{"command":"git status"}`)}), when("status", allow)}, "allow c"},
		"approval in the other spelling, once more": {cannedAnswers{when("status", Output{Decision: "approve"}), pushing}, ""},
	} {
		for kind, commands := range map[string]bool{"functions": false, "commands": true} {
			t.Run(name+", "+kind, func(t *testing.T) {
				out := tt.hooks.fire(t, PreToolUse, commands, nil)
				got := ""
				if out.Permission != "" {
					got = out.Permission + " " + out.PermissionHook
				}
				if got != tt.want {
					t.Errorf("got %q, want %q; %+v", got, tt.want, out.Ran)
				}
			})
		}
	}
	t.Run("of a permission request", func(t *testing.T) {
		out := cannedAnswers{when("push", deny), always(Output{Input: json.RawMessage(pushes), Permission: "allow"})}.fire(t, PermissionRequest, false, nil)
		if out.Permission != "deny" {
			t.Errorf("got %+v", out.Permission)
		}
	})
	t.Run("whose condition holds for the changed input only", func(t *testing.T) {
		out := cannedAnswers{when("push", deny), pushing}.fire(t, PreToolUse, true, func(i int, d *Definition) {
			if i == 0 {
				d.If = "Bash(git push:*)"
			}
		})
		if out.Permission != "deny" {
			t.Errorf("got %+v", out.Permission)
		}
	})
	t.Run("that has its one run behind it", func(t *testing.T) {
		out := cannedAnswers{always(allow), pushing}.fire(t, PreToolUse, true, func(_ int, d *Definition) { d.Once = true })
		if out.Permission != "" {
			t.Errorf("got %+v", out.Permission)
		}
	})
	t.Run("the input is the last one's", func(t *testing.T) {
		out := cannedAnswers{func(string) *Output { return &Output{Input: json.RawMessage(`{"command":"x"}`)} }, pushing}.fire(t, PreToolUse, true, nil)
		if string(out.Input) != pushes {
			t.Errorf("got %s", out.Input)
		}
		if h := out.Ran.Hooks; len(h) != 3 || !h[2].Rerun || h[2].Name != "a" || h[1].Rerun {
			t.Errorf("on record: %+v", h)
		}
	})
}
