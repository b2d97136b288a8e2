package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
)

const seatForm = `{"server":"asker","message":"Which seat?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}},"required":["seat"]},"content":{}}`

// formTool is a tool that asks the user to fill in a form while it runs.
func formTool(form string) probe {
	return probe{name: "mcp__asker__book", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		in, err := c.Fill(ctx, policy.Request{Tool: c.Tool, Resource: "answer asker", Input: json.RawMessage(form)})
		if errors.Is(err, tool.ErrUndecided) {
			return tool.Text("undecided: " + err.Error()), nil
		}
		if err != nil {
			return tool.Text("no: " + err.Error()), nil //nolint:nilerr // the test reads it
		}
		content, err := forms.ReadForm(json.RawMessage(form), in)
		return tool.Text("filled in: " + string(content)), err
	}}
}

func formCall() (s step) {
	s.uses = append(s.uses, use("c1", "mcp__asker__book", `{}`))
	return s
}

// formAnswer returns the input of an answer, or nil for "".
func formAnswer(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// The user fills in a form. The answer is recorded before the tool gets it.
func TestFormFilledIn(t *testing.T) {
	says := func(d approval.Decision, input string) *approval.Answer {
		return &approval.Answer{Decision: d, Input: formAnswer(input), Actor: "ann"}
	}
	proposing := strings.Replace(seatForm, `"content":{}`, `"content":{"seat":"9F"}`, 1)
	for name, c := range map[string]struct {
		form   string
		answer *approval.Answer // nil: no approver
		want   string
	}{
		"filled in":             {seatForm, says(approval.Allow, `{"content":{"seat":"1A"}}`), `filled in: {"seat":"1A"}`},
		"all fields":            {seatForm, says(approval.Allow, strings.Replace(seatForm, `"content":{}`, `"content":{"seat":"1A"}`, 1)), `filled in: {"seat":"1A"}`},
		"as proposed":           {proposing, &approval.Answer{Decision: approval.Allow}, `filled in: {"seat":"9F"}`},
		"otherwise":             {proposing, says(approval.Allow, `{"content":{"seat":"1A"}}`), `filled in: {"seat":"1A"}`},
		"plain allow":           {seatForm, &approval.Answer{Decision: approval.Allow}, `the answer is invalid: invalid answer: field "seat" is required`},
		"invalid input":         {seatForm, says(approval.Allow, `{"content":{"seat":7}}`), `want a string`},
		"another form":          {seatForm, says(approval.Allow, `{"message":"other","content":{"seat":"1A"}}`), `may differ from the requested input`},
		"no":                    {seatForm, &approval.Answer{Decision: approval.Deny, Actor: "ann"}, "no: permission denied by the user"},
		"no approver":           {seatForm, nil, "undecided: "},
		"in time":               {seatForm, &approval.Answer{Decision: approval.Deny, Actor: "timeout"}, "undecided: "},
		"allow for the session": {seatForm, says(approval.AllowSession, ``), "needs a new answer from a person"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sessions(t)
			o := guarded(t, s, registry(t, formTool(c.form)), "allow mcp__asker__book")
			if c.answer != nil {
				person := &fixedAnswer{answer: *c.answer}
				o.Permissions.Ask = person.ask
			}
			a := newAgent(t, play(t, formCall(), step{text: "ok"}), o)
			prompt(t, a, "go")
			if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 0 {
				t.Errorf("open: %v, %v", open, err)
			}
		})
	}
}

// Only the user fills in a form. An allow or another input from the callback, policies or hooks does not
// answer it.
func TestOnlyUserFillsInForm(t *testing.T) {
	forged := json.RawMessage(`{"content":{"seat":"forged"}}`)
	ofForm := func(r policy.Request) bool { return r.Form }
	for name, change := range map[string]func(*agent.Options){
		"the callback": func(o *agent.Options) {
			o.Permissions.Config.CanUseTool = func(_ context.Context, r policy.Request) (policy.Verdict, error) {
				if !ofForm(r) {
					return policy.Verdict{}, nil
				}
				return policy.Verdict{Effect: policy.Allow, Input: forged}, nil
			}
		},
		"a mode": func(o *agent.Options) { o.Permissions.Config.Mode = policy.ModeBypass },
		"a hook": func(o *agent.Options) {
			hooks := hook.New(nil)
			t.Cleanup(func() { hooks.Close() })
			for _, event := range []hook.Event{hook.PreToolUse, hook.PermissionRequest} {
				if err := hooks.HandleFunc(event, "", func(_ context.Context, in hook.Input) (*hook.Output, error) {
					if len(in.Tool.Requests) == 1 && ofForm(in.Tool.Requests[0]) {
						return &hook.Output{Permission: "allow", Input: forged}, nil
					}
					return nil, nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			o.Hooks.Registry = hooks
		},
	} {
		for _, there := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				o := guarded(t, sessions(t), registry(t, formTool(seatForm)), "allow mcp__asker__book")
				change(&o)
				if there {
					person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"content":{"seat":"1A"}}`)}}
					o.Permissions.Ask = person.ask
				}
				a := newAgent(t, play(t, formCall(), step{text: "ok"}), o)
				prompt(t, a, "go")
				got := results(t, a)["c1"].Text()
				if strings.Contains(got, "forged") && strings.Contains(got, "filled in") || !there && strings.Contains(got, "filled in") {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

// An answer from another program counts like one from here. A plain allow is rejected, and the form stays
// open.
func TestFormFilledInByOtherProgram(t *testing.T) {
	s := session.New(memory.New(), nil)
	o := guarded(t, s, registry(t, formTool(seatForm)), "allow mcp__asker__book")
	o.Permissions.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		for _, wrong := range []string{"", `{"content":{}}`, `{"content":{"seat":"1A","more":1}}`} {
			if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Input: formAnswer(wrong)}); !errors.Is(err, approval.ErrInvalid) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Actor: "bob", Input: json.RawMessage(`{"content":{"seat":"2B"}}`)}); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return approval.Answer{}, context.Cause(ctx)
	}
	a := newAgent(t, play(t, formCall(), step{text: "ok"}), o)
	prompt(t, a, "go")
	if got := results(t, a)["c1"].Text(); got != `filled in: {"seat":"2B"}` {
		t.Errorf("got %q", got)
	}
	for _, p := range payloads(t, s, "one", record.KindDecision) {
		var d policy.Decision
		if err := json.Unmarshal([]byte(p), &d); err != nil {
			t.Fatal(err)
		}
		if d.PersonAsked && (d.By != "bob" || string(d.Input) != `{"content":{"seat":"2B"}}`) {
			t.Errorf("decided %+v", d)
		}
	}
}

// After kill -9 between the answer and its use, the outcome of the call is unknown. It does not run again,
// and the form is not shown again.
func TestFormAnswerEndsWithProcess(t *testing.T) {
	s := sessions(t)
	filled, end := make(chan struct{}), make(chan struct{})
	tools := formTool(seatForm)
	run := tools.run
	tools.run = func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		res, err := run(ctx, c)
		close(filled)
		<-end // the process has been killed
		return res, err
	}
	o := guarded(t, s, registry(t, tools), "allow mcp__asker__book")
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"content":{"seat":"1A"}}`)}}
	o.Permissions.Ask = person.ask
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = newAgent(t, play(t, formCall(), step{text: "ok"}), o).Prompt(context.Background(), "go")
	}()
	<-filled
	killed(t, s, o.Session.SessionID)
	o.Permissions.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		t.Error("approval was requested again")
		return approval.Answer{Decision: approval.Deny}, nil
	}
	again := probe{name: "mcp__asker__book", run: func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("it runs again")
		return tool.Text(""), nil
	}}
	o.Tools = registry(t, again)
	a := newAgent(t, play(t, step{text: "done"}), o)
	if res := prompt(t, a, "go on"); res.Reason != event.ReasonCompleted {
		t.Errorf("ended by %s", res.Reason)
	}
	if got := results(t, a)["c1"].Text(); !strings.Contains(got, "unknown") {
		t.Errorf("got %q", got)
	}
	close(end)
	<-gone
}
