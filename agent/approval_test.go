package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// asking returns options with which every call needs approval.
func asking(o agent.Options) agent.Options {
	o.Permissions.Config.Mode = policy.ModeDefault
	return o
}

// fixedAnswer gives every approval request the same answer and counts them.
type fixedAnswer struct {
	answer approval.Answer
	err    error
	asked  []approval.Request
}

func (g *fixedAnswer) ask(_ context.Context, q approval.Request) (approval.Answer, error) {
	g.asked = append(g.asked, q)
	return g.answer, g.err
}

func pushCall(n int) step {
	var s step
	for i := range n {
		s.uses = append(s.uses, use("c"+string(rune('1'+i)), "Bash", push))
	}
	return s
}

func TestAnswers(t *testing.T) {
	yes, no := approval.Allow, approval.Deny
	for _, c := range []struct {
		name     string
		answer   approval.Answer
		err      error
		asked    int // about two calls of the same
		ran      int
		reported string // about the first
		reason   event.Reason
	}{
		{"allow", approval.Answer{Decision: yes}, nil, 2, 2, "ran " + push, event.ReasonCompleted},
		{"allow for the session", approval.Answer{Decision: approval.AllowSession}, nil, 1, 2, "ran " + push, event.ReasonCompleted},
		{"no", approval.Answer{Decision: no}, nil, 2, 0, "permission denied by the user", event.ReasonCompleted},
		{"deny with a reason", approval.Answer{Decision: no, Message: "not now"}, nil, 2, 0, "permission denied: not now", event.ReasonCompleted},
		{"deny for the session", approval.Answer{Decision: approval.DenySession}, nil, 1, 0, "permission denied by the user", event.ReasonCompleted},
		{"deny and stop", approval.Answer{Decision: no, Stop: true}, nil, 1, 0, "permission denied by the user", event.ReasonInterrupted},
		{"no decision", approval.Answer{}, nil, 2, 0, "the answer is invalid", event.ReasonCompleted},
		{"unknown decision", approval.Answer{Decision: "maybe"}, nil, 2, 0, "the answer is invalid", event.ReasonCompleted},
		{"allow and stop", approval.Answer{Decision: yes, Stop: true}, nil, 2, 0, "the answer is invalid", event.ReasonCompleted},
		{"callback fails", approval.Answer{Decision: yes}, errors.New("the wire broke"), 2, 0, "the wire broke", event.ReasonCompleted},
	} {
		for _, stored := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				bash, person := command("Bash"), &fixedAnswer{answer: c.answer, err: c.err}
				o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}})
				if stored {
					o.Sessions = sessions(t)
				}
				a := newAgent(t, play(t, pushCall(2), step{text: "ok"}), o)
				res := prompt(t, a, "go")
				if len(person.asked) != c.asked || len(bash.inputs) != c.ran || res.Reason != c.reason {
					t.Errorf("asked %d, ran %d, ended by %s", len(person.asked), len(bash.inputs), res.Reason)
				}
				if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
					t.Errorf("got %q, want %q", got, c.reported)
				}
				if err := transcript.Validate(a.Snapshot().Items); err != nil {
					t.Error(err)
				}
				a.Close()
			})
		}
	}
}

func TestApprovalRequestFields(t *testing.T) {
	s := sessions(t)
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow, Actor: "ann", Via: "test"}}
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, AgentName: "helper", Tools: registry(t, command("Bash")),
		Permissions: agent.Permissions{
			Ask:        person.ask,
			AskTimeout: time.Hour,
			Sandbox:    "landlock",
			Config:     policy.Config{Folders: []string{"/w"}, Home: "/home/ann"},
		},
	}))
	var reported []string
	for _, e := range events(t, a, "go") {
		switch e := e.(type) {
		case event.ApprovalAsked:
			reported = append(reported, "asked")
		case event.ApprovalResolved:
			reported = append(reported, "resolved by "+e.Answer.Actor)
		case event.DecisionMade:
			reported = append(reported, "decided "+e.Decision.By)
		case event.ToolStarted:
			reported = append(reported, "started")
		}
	}
	if want := []string{"asked", "resolved by ann", "decided ann", "started"}; !slices.Equal(reported, want) {
		t.Errorf("got %v, want %v", reported, want)
	}
	q := person.asked[0]
	switch {
	case q.Session != "one" || q.Agent != "helper" || q.Use != "c1" || q.Tool != "Bash" || q.Cwd != "/w" || q.Sandbox != "landlock":
		t.Errorf("%+v", q)
	case !q.Matches(q.Requests) || q.Requests[0].Resource != "git push" || q.Requests[0].Cwd != "/w":
		t.Errorf("%+v", q.Requests)
	case q.Expires == nil || q.Expires.Sub(q.AskedAt) != time.Hour || q.Reason != record.ReasonAsk || q.Mode != policy.ModeDefault || len(q.Scopes) == 0:
		t.Errorf("%+v", q)
	}
	var d policy.Decision
	if err := json.Unmarshal([]byte(payloads(t, s, "one", record.KindDecision)[0]), &d); err != nil {
		t.Fatal(err)
	}
	if !d.PersonAsked || d.Effect != policy.Allow || d.By != "ann" || d.AskReason != record.ReasonAsk || d.Digests[0] != q.Requests[0].Digest() {
		t.Errorf("recorded %+v", d)
	}
	want := []session.Kind{
		"session.opened", "turn.opened", "item", "item", "approval.asked", "approval.resolved", "decision", "tool.started",
		"tool.finished", "item", "item", "turn.closed",
	}
	if got := kinds(t, s, "one"); !slices.Equal(got, want) {
		t.Errorf("records %v", got)
	}
	a.Close()
}

func TestApproverReplacesInput(t *testing.T) {
	const patched = `{"command":"git push --dry-run"}`
	for _, c := range []struct {
		name     string
		in       string
		p        policy.Config
		ran      string
		reported string
	}{
		{"another input", patched, policy.Config{}, patched, "ran"},
		{"input that a policy denies", patched, policy.Config{CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
			if strings.Contains(r.Resource, "dry") {
				return policy.Verdict{Effect: policy.Deny, Reason: "no dry runs"}, nil
			}
			return policy.Verdict{}, nil
		}}, "", "permission denied: no dry runs"},
		{"input that a policy changes again", patched, policy.Config{CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
			if strings.Contains(r.Resource, "dry") {
				return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(`{"command":"rm -r x"}`)}, nil
			}
			return policy.Verdict{}, nil
		}}, "", "a policy changed the approved input"},
		{"invalid input", `{"bad":true}`, policy.Config{}, "", "the approved input is invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bash := command("Bash")
			person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow, Input: json.RawMessage(c.in)}}
			s := sessions(t)
			a := newAgent(t, play(t, pushCall(1), step{text: "ok"}, pushCall(1), step{text: "ok"}), asking(agent.Options{
				Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask, Config: c.p}, Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
			}))
			prompt(t, a, "go")
			if got := strings.Join(bash.inputs, " "); got != c.ran {
				t.Errorf("ran %q, want %q", got, c.ran)
			}
			if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
				t.Errorf("got %q, want %q", got, c.reported)
			}
			if in := a.Snapshot().Items[1].Uses()[0].Input; string(in) != push {
				t.Errorf("the transcript holds %s", in)
			}
			asked, answered := payloads(t, s, "one", record.KindApprovalAsked)[0], payloads(t, s, "one", record.KindApprovalResolved)[0]
			if !strings.Contains(asked, push) || !strings.Contains(answered, c.in) {
				t.Errorf("the records do not hold both:\n%s\n%s", asked, answered)
			}
			prompt(t, a, "again")
			if len(person.asked) != 2 {
				t.Errorf("approval requested %d times", len(person.asked))
			}
			a.Close()
		})
	}
}

// changingRequestsTool is a tool whose requests differ each time.
type changingRequestsTool struct {
	*runner
	base *string
}

func (s changingRequestsTool) Requests(c *tool.Call) ([]policy.Request, error) {
	return []policy.Request{{Operation: policy.OpWrite, Resource: "/w/a", Base: *s.base}}, nil
}

func TestApprovalCoversOnlyShown(t *testing.T) {
	for _, decision := range []approval.Decision{approval.Allow, approval.AllowSession} {
		base := "one"
		edit := changingRequestsTool{command("Edit"), &base}
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`)}}, step{text: "ok"})
		a := newAgent(t, m, asking(agent.Options{Tools: registry(t, edit), Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
			base = "two" // while the approver decides
			return approval.Answer{Decision: decision}, nil
		}}}))
		res := prompt(t, a, "go")
		if got := results(t, a)["c1"].Text(); len(edit.inputs) != 0 || !strings.Contains(got, "changed after it was approved") {
			t.Errorf("%s: ran %d times, got %q", decision, len(edit.inputs), got)
		}
		if len(res.Denials) != 1 || !res.Denials[0].PersonAsked || len(a.Guards().Grants()) != 0 {
			t.Errorf("%s: %+v, %d grants", decision, res.Denials, len(a.Guards().Grants()))
		}
	}
}

// checking is a tool that reports in advance which calls fail.
type checking struct{ *runner }

func (checking) Check(c *tool.Call) error {
	if strings.Contains(string(c.Input), "unread") {
		return errors.New("read it first")
	}
	return nil
}

func TestNoNeedlessApproval(t *testing.T) {
	bash := command("Bash")
	var asked int
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", `{"command":"touch unread"}`), use("c2", "Bash", `{"command":"touch read"}`)}}, step{text: "ok"})
	a := newAgent(t, m, asking(agent.Options{Tools: registry(t, checking{bash}), Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
		asked++
		return approval.Answer{Decision: approval.Allow}, nil
	}}}))
	res := prompt(t, a, "go")
	if got := results(t, a); asked != 1 || len(bash.inputs) != 1 || got["c1"].Text() != "read it first" || !got["c1"].IsError || got["c2"].IsError {
		t.Errorf("asked %d times, ran %v, results %+v", asked, bash.inputs, got)
	}
	if len(res.Denials) != 0 {
		t.Errorf("unexpected denials: %+v", res.Denials)
	}
}

func TestPolicyChangeDuringApproval(t *testing.T) {
	bash := command("Bash")
	var a *agent.Agent
	a = newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		_, err := a.Change(ctx, policy.Change{Grant: &policy.Grant{Effect: policy.Deny, Tool: "Bash", Scope: "Bash(git push:*)"}})
		return approval.Answer{Decision: approval.Allow}, err
	}}}))
	prompt(t, a, "go")
	if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "permission denied: ") {
		t.Errorf("ran %v, got %q", bash.inputs, got)
	}
}

func TestSessionDenyOverriddenOnce(t *testing.T) {
	const exception = `{"command":"git push","override":true}`
	bash := command("Bash")
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", exception), use("c2", "Bash", push), use("c3", "Bash", exception)}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}})
	_, err := a.Change(t.Context(), policy.Change{Grant: &policy.Grant{Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "git push"}})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, a, "go")
	if len(person.asked) != 2 || person.asked[0].Reason != record.ReasonOverride || len(bash.inputs) != 2 {
		t.Errorf("asked %d, ran %v", len(person.asked), bash.inputs)
	}
	if got := results(t, a)["c2"]; !got.IsError || len(a.Guards().Grants()) != 1 {
		t.Errorf("without the exception: %q, %d grants", got.Text(), len(a.Guards().Grants()))
	}
}

// answerElsewhere answers the open approval request of a session like another program.
func answerElsewhere(t testing.TB, s *session.Sessions, id string, ans approval.Answer) (approval.Answer, error) {
	t.Helper()
	open, err := approval.Pending(t.Context(), s, id)
	if err != nil || len(open) != 1 {
		t.Fatalf("%d approvals are open, %v", len(open), err)
	}
	ans.RequestID = open[0].ID
	return approval.Resolve(t.Context(), s, id, ans)
}

func TestOtherProgramAnswersFirst(t *testing.T) {
	for _, c := range []struct {
		name     string
		ans      approval.Answer
		ran      int
		reported string
	}{
		{"allow", approval.Answer{Decision: approval.Allow, Actor: "bob"}, 2, "ran"},
		{"allow for the session", approval.Answer{Decision: approval.AllowSession, Actor: "bob"}, 2, "ran"},
		{"no", approval.Answer{Decision: approval.Deny, Actor: "bob", Message: "no"}, 0, "permission denied: no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := session.New(memory.New(), nil)
				bash := command("Bash")
				asked := 0
				a := newAgent(t, play(t, pushCall(2), step{text: "ok"}), asking(agent.Options{
					Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash),
					Permissions: agent.Permissions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
						asked++
						if _, err := answerElsewhere(t, s, "one", c.ans); err != nil {
							t.Error(err)
						}
						<-ctx.Done() // the approver of this process is slow
						return approval.Answer{}, context.Cause(ctx)
					}},
				}))
				var by []string
				for _, e := range events(t, a, "go") {
					if r, ok := e.(event.ApprovalResolved); ok {
						by = append(by, r.Answer.Actor)
						if r.LateAnswer != nil {
							t.Errorf("late: %+v", r.LateAnswer)
						}
					}
				}
				want := 2
				if c.ans.Decision.Session() {
					want = 1
				}
				if len(bash.inputs) != c.ran || asked != want || len(by) != want || by[0] != "bob" {
					t.Errorf("ran %d, asked %d, resolved by %v", len(bash.inputs), asked, by)
				}
				if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
					t.Errorf("got %q", got)
				}
				if n := len(payloads(t, s, "one", record.KindApprovalResolved)); n != want {
					t.Errorf("%d answers recorded", n)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestLateLocalAnswer(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash),
		Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
			_, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Deny, Actor: "bob", Message: "no"})
			return approval.Answer{Decision: approval.Allow, Actor: "ann"}, err
		}},
	}))
	var reported *event.ApprovalResolved
	for _, e := range events(t, a, "go") {
		if r, ok := e.(event.ApprovalResolved); ok {
			reported = &r
		}
	}
	if len(bash.inputs) != 0 || reported == nil || reported.Answer.Actor != "bob" || reported.LateAnswer == nil || reported.LateAnswer.Actor != "ann" {
		t.Errorf("ran %v, got %+v", bash.inputs, reported)
	}
	a.Close()
}

func TestDriverAnsweredElsewhere(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	a := newAgent(t, play(t, pushCall(2), step{text: "ok"}), asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash),
	}))
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	next := func() agent.DriverState {
		t.Helper()
		st, err := d.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	q := next().Approvals[0]
	if err := d.Resolve(t.Context(), q.ID, approval.Answer{Decision: "maybe"}); !errors.Is(err, approval.ErrInvalid) {
		t.Errorf("a useless answer: %v", err)
	}
	if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Actor: "bob"}); err != nil {
		t.Fatal(err)
	}
	err := d.Resolve(t.Context(), q.ID, approval.Answer{Decision: approval.Deny})
	var won *approval.AnsweredError
	if !errors.As(err, &won) || won.First.Actor != "bob" {
		t.Errorf("the late answer: %v", err)
	}
	second := next().Approvals[0]
	if len(bash.inputs) != 1 || second.ID == q.ID {
		t.Fatalf("ran %v, asked %s again", bash.inputs, q.ID)
	}
	// Next finds the other program's answer.
	if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Actor: "bob"}); err != nil {
		t.Fatal(err)
	}
	if st := next(); !st.AfterToolResult() || len(bash.inputs) != 2 {
		t.Errorf("%+v, ran %v", st, bash.inputs)
	}
	a.Close()
}
