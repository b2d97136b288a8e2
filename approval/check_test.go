package approval_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestCheckErrors(t *testing.T) {
	q := newRequest("q", "npm run test")
	override := q
	override.Reason = record.ReasonOverride
	outside := newRequest("q", "npm run test")
	outside.Requests[0].Unsandboxed = true
	several := approval.New([]policy.Request{command("a"), command("b")}, asked("u", "Bash"), approval.RequestOptions{ID: "q"})
	words := approval.New([]policy.Request{{Tool: forms.AskTool, Resource: forms.AskTool, Person: true}}, asked("u", forms.AskTool), approval.RequestOptions{ID: "q"})
	plan := approval.New([]policy.Request{{Tool: forms.PlanTool, Resource: forms.PlanTool, Person: true}}, asked("u", forms.PlanTool), approval.RequestOptions{ID: "q"})
	for name, c := range map[string]struct {
		q    approval.Request
		a    approval.Answer
		says string
	}{
		"no decision":                {q, approval.Answer{}, `unknown decision ""`},
		"an unknown decision":        {q, approval.Answer{Decision: "maybe"}, `unknown decision "maybe"`},
		"a decision in another case": {q, approval.Answer{Decision: "Allow"}, "unknown decision"},
		"another question":           {q, approval.Answer{RequestID: "r", Decision: approval.Allow}, "the answer is for approval request r, not q"},
		"a scope for once":           {q, approval.Answer{Decision: approval.Allow, Scope: "Bash(npm run test:*)"}, "hint: allow-session"},
		"a scope for a deny":         {q, approval.Answer{Decision: approval.Deny, Scope: "Bash"}, "hint: deny-session"},
		"another tool's scope":       {q, approval.Answer{Decision: approval.AllowSession, Scope: "Edit(//w/**)"}, "hint: Bash(npm run test:*)"},
		"every tool":                 {q, approval.Answer{Decision: approval.DenySession, Scope: "*"}, "is not about Bash"},
		"for good, once":             {q, approval.Answer{Decision: approval.Allow, SaveTo: "user"}, "cannot save a rule; hint: allow-session"},
		"for good, nowhere":          {q, approval.Answer{Decision: approval.AllowSession, SaveTo: "flag"}, "hint: local, project or user"},
		"an empty scope rule":        {q, approval.Answer{Decision: approval.AllowSession, Scope: "Bash()"}, "scope \""},
		"a scope that is not closed": {q, approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm"}, "scope \""},
		"a scope in words":           {q, approval.Answer{Decision: approval.AllowSession, Scope: "everything"}, "is not about Bash"},
		"a scope with a space":       {q, approval.Answer{Decision: approval.AllowSession, Scope: " Bash(x)"}, "is not about Bash"},
		"a scope without end":        {q, approval.Answer{Decision: approval.AllowSession, Scope: "Bash(" + strings.Repeat("x", 5000) + ")"}, "scope of"},
		"an input with a deny":       {q, approval.Answer{Decision: approval.Deny, Input: json.RawMessage(`{}`)}, "only a plain allow"},
		"an input for the session":   {q, approval.Answer{Decision: approval.AllowSession, Input: json.RawMessage(`{}`)}, "only a plain allow"},
		"an input that is a list":    {q, approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`[]`)}, "not a JSON object"},
		"an input that is broken":    {q, approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"a":`)}, "not a JSON object"},
		"an input that is empty":     {q, approval.Answer{Decision: approval.Allow, Input: json.RawMessage{}}, "not a JSON object"},
		"a stop with an allow":       {q, approval.Answer{Decision: approval.Allow, Stop: true}, "only a deny can stop"},
		"a long message":             {q, approval.Answer{Decision: approval.Deny, Message: strings.Repeat("m", approval.MaxMessage+1)}, "message of 4097 bytes"},
		"a long name":                {q, approval.Answer{Decision: approval.Deny, Actor: strings.Repeat("n", 257)}, "the maximum is 256"},
		"a long way":                 {q, approval.Answer{Decision: approval.Deny, Via: strings.Repeat("n", 257)}, "the maximum is 256"},
		"an override for good":       {override, approval.Answer{Decision: approval.AllowSession}, "only once"},
		"outside for good":           {outside, approval.Answer{Decision: approval.AllowSession}, "outside the sandbox"},
		"never outside":              {outside, approval.Answer{Decision: approval.DenySession}, "hint: allow or deny"},
		"all questions answered":     {words, approval.Answer{Decision: approval.AllowSession}, "AskUserQuestion needs a new answer from a person each time"},
		"no question any more":       {words, approval.Answer{Decision: approval.DenySession}, "the answer cannot cover the session; hint: allow or deny"},
		"none of the tool's":         {words, approval.Answer{Decision: approval.DenySession, Scope: forms.AskTool}, "the answer cannot cover the session"},
		"no plan any more":           {plan, approval.Answer{Decision: approval.DenySession}, "ExitPlanMode needs a new answer from a person each time"},
		"several things, no scope":   {several, approval.Answer{Decision: approval.AllowSession}, "several requests"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.q.Check(c.a)
			wantErr(t, err, approval.ErrInvalid)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want something about %q", err, c.says)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	q := newRequest("q", "npm run test")
	override := q
	override.Reason = record.ReasonOverride
	write := approval.New([]policy.Request{{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a"}}, asked("u", "Write"), approval.RequestOptions{ID: "q", Cwd: "/w"})
	grep := approval.New([]policy.Request{{Tool: "Grep", Operation: policy.OpRead, Resource: "/w"}}, asked("u", "Grep"), approval.RequestOptions{ID: "q", Cwd: "/w"})
	several := approval.New([]policy.Request{command("a"), command("a b")}, asked("u", "Bash"), approval.RequestOptions{ID: "q"})
	home := approval.New([]policy.Request{{Tool: "Write", Operation: policy.OpWrite, Resource: "/h/x/a"}}, asked("u", "Write"), approval.RequestOptions{ID: "q", Cwd: "/w", Home: "/h"})
	for name, c := range map[string]struct {
		q approval.Request
		a approval.Answer
	}{
		"an allow":                  {q, approval.Answer{RequestID: "q", Decision: approval.Allow}},
		"without the question's id": {q, approval.Answer{Decision: approval.Allow}},
		"an allow with input":       {q, approval.Answer{Decision: approval.Allow, Input: json.RawMessage(` {"command":"ls"}`)}},
		"a deny":                    {q, approval.Answer{Decision: approval.Deny, Message: strings.Repeat("m", approval.MaxMessage), Stop: true}},
		"exactly this":              {q, approval.Answer{Decision: approval.AllowSession}},
		"a scope":                   {q, approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm run test:*)"}},
		"a scope that was edited":   {q, approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm *)"}},
		"the whole tool":            {q, approval.Answer{Decision: approval.DenySession, Scope: "Bash"}},
		"deny and stop":             {q, approval.Answer{Decision: approval.DenySession, Stop: true}},
		"an override":               {override, approval.Answer{Decision: approval.Allow}},
		"no override":               {override, approval.Answer{Decision: approval.DenySession}},
		"a folder to write":         {write, approval.Answer{Decision: approval.AllowSession, Scope: "Edit(//w/**)"}},
		"at home":                   {home, approval.Answer{Decision: approval.AllowSession, Scope: "Edit(~/x/**)"}},
		"from the folder":           {write, approval.Answer{Decision: approval.AllowSession, Scope: "Edit(a*)"}},
		"a folder to read":          {grep, approval.Answer{Decision: approval.AllowSession, Scope: "Read(//w/**)"}},
		"several once":              {several, approval.Answer{Decision: approval.Allow}},
		"several with a scope":      {several, approval.Answer{Decision: approval.AllowSession, Scope: "Bash(a:*)"}},
	} {
		if err := c.q.Check(c.a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every answer is rejected, or is one of the four decisions with only the fields that it allows,
// and is the same after decoding.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"id":"q","decision":"allow"}`, `{"decision":"allow","input":{"command":"ls"}}`, `{"decision":"deny","stop":true,"message":"no"}`,
		`{"decision":"allow-session","scope":"Bash(npm run test:*)"}`, `{"decision":"deny-session","scope":"Bash(\\(:*)"}`,
		`{"decision":"allow-session","scope":"Bash(a*b:c)"}`, `{"decision":"maybe"}`, `{"decision":"allow","input":[1]}`,
	} {
		f.Add(seed)
	}
	q := newRequest("q", "npm run test -- --watch")
	f.Fuzz(func(t *testing.T, text string) {
		var a approval.Answer
		if json.Unmarshal([]byte(text), &a) != nil {
			return
		}
		if err := q.Check(a); err != nil {
			if !errors.Is(err, approval.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		g, err := q.Grant(a)
		if a.Decision.Session() != (err == nil) {
			t.Fatalf("%s creates a grant: %v", a.Decision, err)
		}
		if err == nil && (g.Effect == policy.Allow) != a.Decision.Allows() {
			t.Fatalf("%s creates %+v", a.Decision, g)
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again approval.Answer
		if err := json.Unmarshal(b, &again); err != nil || q.Check(again) != nil {
			t.Fatalf("%s is decoded as %+v, %v", b, again, err)
		}
	})
}
