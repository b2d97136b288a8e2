package agent_test

import (
	"context"
	"runtime"
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
	"github.com/holdfast-dev/holdfast/transcript"
)

// An Ask that ignores its context does not block an answer from another program, the expiry, or
// Interrupt.
func TestStuckAsker(t *testing.T) {
	for _, c := range []struct {
		name    string
		stored  bool
		timeout time.Duration
		happens func(*testing.T, *agent.Agent, *session.Sessions)
		ran     int
		by      string
	}{
		{"answered elsewhere", true, 0, func(t *testing.T, _ *agent.Agent, s *session.Sessions) {
			if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Actor: "bob"}); err != nil {
				t.Error(err)
			}
		}, 1, "bob"},
		{"expired", true, time.Minute, nil, 0, "timeout"},
		{"expired, without a store", false, time.Minute, nil, 0, "timeout"},
		{"interrupted", true, 0, func(_ *testing.T, a *agent.Agent, _ *session.Sessions) { a.Interrupt() }, 0, "interrupt"},
		{"interrupted, without a store", false, 0, func(_ *testing.T, a *agent.Agent, _ *session.Sessions) { a.Interrupt() }, 0, "interrupt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := session.New(memory.New(), nil)
				bash := command("Bash")
				release := make(chan struct{})
				asked := make(chan struct{})
				o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{AskTimeout: c.timeout, Ask: func(context.Context, approval.Request) (approval.Answer, error) {
					close(asked)
					<-release
					return approval.Answer{Decision: approval.Allow, Actor: "ann"}, nil
				}}})
				if c.stored {
					o.Sessions, o.Session.SessionID = s, "one"
				}
				a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), o)
				go func() {
					<-asked
					if c.happens != nil {
						c.happens(t, a, s)
					}
				}()
				var by []string
				for _, e := range events(t, a, "go") {
					if r, ok := e.(event.ApprovalResolved); ok {
						by = append(by, r.Answer.Actor)
					}
				}
				if len(bash.inputs) != c.ran || strings.Join(by, " ") != c.by {
					t.Errorf("ran %v, resolved by %v", bash.inputs, by)
				}
				close(release) // its answer comes too late
				synctest.Wait()
				if len(bash.inputs) != c.ran {
					t.Errorf("the late answer ran %v", bash.inputs)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// An Ask whose goroutine ends without an answer denies.
func TestAskEndsGoroutine(t *testing.T) {
	for _, stored := range []bool{false, true} {
		bash := command("Bash")
		o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
			runtime.Goexit()
			return approval.Answer{Decision: approval.Allow}, nil
		}}})
		if stored {
			o.Sessions = sessions(t)
		}
		a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), o)
		prompt(t, a, "go")
		if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "could not ask the approver") {
			t.Errorf("ran %v, got %q", bash.inputs, got)
		}
		a.Close()
	}
}

// An allow does not override a session deny that was made while the approval request waited.
func TestAllowIsNotOverride(t *testing.T) {
	bash := command("Bash")
	var a *agent.Agent
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", `{"command":"git push","override":true}`)}}, step{text: "ok"})
	a = newAgent(t, m, asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: func(ctx context.Context, q approval.Request) (approval.Answer, error) {
		if q.Reason != record.ReasonAsk {
			t.Errorf("asked because of %s", q.Reason)
		}
		_, err := a.Change(ctx, policy.Change{Grant: &policy.Grant{Effect: policy.Deny, Tool: "Bash", Scope: "Bash(git push:*)"}})
		return approval.Answer{Decision: approval.Allow}, err
	}}}))
	prompt(t, a, "go")
	if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "the session denied") {
		t.Errorf("ran %v, got %q", bash.inputs, got)
	}
}

// Invalid records do not run anything.
func TestInvalidRecordedAnswer(t *testing.T) {
	for name, ans := range map[string]approval.Answer{
		"another input for the session":    {Decision: approval.AllowSession, Input: []byte(`{"command":"rm -r x"}`)},
		"allow and stop":                   {Decision: approval.Allow, Stop: true},
		"input is not an object":           {Decision: approval.Allow, Input: []byte(`"rm"`)},
		"scope without a session decision": {Decision: approval.Allow, Scope: "Bash"},
	} {
		t.Run(name, func(t *testing.T) {
			l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
			ans.RequestID, ans.Actor = l.approval.ID, "bob"
			share(t, l.Sessions, "one", record.KindApprovalResolved, ans)
			bash := command("Bash")
			a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash)})
			continueRun(t, a)
			if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "the answer is invalid") {
				t.Errorf("ran %v, got %q", bash.inputs, got)
			}
			a.Close()
		})
	}
}

// The approver's note on an allow reaches the model, whichever process applies the answer.
func TestApproverNoteReachesModel(t *testing.T) {
	yes := approval.Answer{Decision: approval.Allow, Message: "but only this time", Actor: "bob"}
	for _, restarted := range []bool{false, true} {
		bash := command("Bash")
		var a *agent.Agent
		if restarted {
			l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
			l.answer(t, yes)
			a = l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash)})
			continueRun(t, a)
		} else {
			a = newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: (&fixedAnswer{answer: yes}).ask}}))
			prompt(t, a, "go")
		}
		if got := results(t, a)["c1"]; len(bash.inputs) != 1 || got.IsError || !strings.Contains(got.Text(), "but only this time") {
			t.Errorf("restarted %v: ran %v, got %q", restarted, bash.inputs, got.Text())
		}
		a.Close()
	}
}

// share appends a record like another program.
func share(t testing.TB, s *session.Sessions, id string, k session.Kind, payload any) {
	t.Helper()
	m, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := session.NewDraft(k, payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendShared(t.Context(), id, m.Head, d); err != nil {
		t.Fatal(err)
	}
}
