package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestApprovalTimeout(t *testing.T) {
	for _, stored := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bash := command("Bash")
			o := asking(agent.Options{
				Tools: registry(t, bash), Permissions: agent.Permissions{
					AskTimeout: 5 * time.Minute,
					Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
						<-ctx.Done()
						return approval.Answer{}, context.Cause(ctx)
					},
				},
			})
			if stored {
				o.Sessions = session.New(memory.New(), nil)
			}
			began := time.Now()
			a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), o)
			res := prompt(t, a, "go")
			if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
				t.Errorf("it took %v", took)
			}
			if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "no answer in time") || res.Reason != event.ReasonCompleted {
				t.Errorf("ran %v, got %q, ended by %s", bash.inputs, got, res.Reason)
			}
			if d := res.Denials; len(d) != 1 || d[0].By != "timeout" {
				t.Errorf("denials %+v", d)
			}
			a.Close()
		})
	}
}

func TestLateAllowDenies(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bash := command("Bash")
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{
		Tools: registry(t, bash), Permissions: agent.Permissions{AskTimeout: time.Minute}, Clock: func() time.Time { return now },
	}))
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	st, err := d.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	if err := d.Resolve(t.Context(), st.Approvals[0].ID, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "in time") {
		t.Errorf("ran %v, got %q", bash.inputs, got)
	}
}

func TestCancelDeniesApproval(t *testing.T) {
	for _, recorded := range []*approval.Answer{nil, {Decision: approval.Allow, Actor: "bob"}, {Decision: approval.Deny, Actor: "bob", Message: "no"}} {
		s := sessions(t)
		bash := command("Bash")
		var a *agent.Agent
		a = newAgent(t, play(t, pushCall(2), step{text: "later"}), asking(agent.Options{
			Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash),
			Permissions: agent.Permissions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
				if recorded != nil {
					if _, err := answerElsewhere(t, s, "one", *recorded); err != nil {
						t.Error(err)
					}
				}
				a.Interrupt()
				<-ctx.Done()
				return approval.Answer{}, ctx.Err()
			}},
		}))
		var resolved []approval.Answer
		all := events(t, a, "go")
		for _, e := range all {
			if r, ok := e.(event.ApprovalResolved); ok {
				resolved = append(resolved, r.Answer)
			}
		}
		want, by := "approval cancelled", "interrupt"
		if recorded != nil {
			by, want = "bob", "permission denied: no"
			if recorded.Decision.Allows() {
				want = "interrupted first"
			}
		}
		if len(resolved) != 1 || resolved[0].Actor != by || last(t, all).Reason != event.ReasonInterrupted || len(bash.inputs) != 0 {
			t.Errorf("resolved %+v, ran %v", resolved, bash.inputs)
		}
		if got := results(t, a)["c1"]; !got.IsError || !strings.Contains(got.Text(), want) {
			t.Errorf("got %q, want %q", got.Text(), want)
		}
		if open, err := approval.Pending(t.Context(), s, "one"); err != nil || len(open) != 0 {
			t.Errorf("%d approvals are open, %v", len(open), err)
		}
		if err := transcript.Validate(a.Snapshot().Items); err != nil {
			t.Error(err)
		}
		a.Close()
	}
}

func TestPolicyChangeInEventHandler(t *testing.T) {
	// The events are consumed inside the loop's call, so no lock may be held.
	s := sessions(t)
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{Sessions: s, Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: person.ask}}))
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.(type) {
		case event.ApprovalAsked, event.ApprovalResolved, event.PolicyChanged, event.ToolStarted:
			if _, err := a.Change(t.Context(), policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"/never/**"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := e.(event.PolicyChanged); ok {
			break
		}
	}
	a.Close()
}

// An approver who does not answer for a minute is reported to hooks once; a quick answer is not.
func TestIdleApproverNotified(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{59 * time.Second, "permission_prompt"}, {10 * time.Minute, "permission_prompt idle_prompt"}} {
		synctest.Test(t, func(t *testing.T) {
			var reported []string
			var at time.Time
			began := time.Now()
			hooks := hook.New(nil)
			err := hooks.Register(hook.Definition{Event: hook.Notification, Func: func(_ context.Context, in hook.Input) (*hook.Output, error) {
				reported, at = append(reported, in.Note.Type), time.Now()
				return nil, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			s := session.New(memory.New(), nil)
			a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{
				Tools: registry(t, command("Bash")), Hooks: agent.Hooks{Registry: hooks}, Sessions: s,
				Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
					time.Sleep(tt.after)
					return approval.Answer{Decision: approval.Allow, Actor: "ann"}, nil
				}},
			}))
			prompt(t, a, "go")
			if got := strings.Join(reported, " "); got != tt.want {
				t.Errorf("after %v: got %q, want %q", tt.after, got, tt.want)
			}
			if tt.after > time.Minute && at.Sub(began) != time.Minute {
				t.Errorf("notified after %v", at.Sub(began))
			}
			if err := errors.Join(a.Close(), hooks.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
