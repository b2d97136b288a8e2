package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

var denyRm = policy.Change{Grant: &policy.Grant{Effect: policy.Deny, Tool: "Bash", Scope: "Bash(rm:*)"}}

// Opening and closing a waiting session does not end its run.
func TestOpeningWaitingSessionKeepsRun(t *testing.T) {
	l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
	share(t, l.Sessions, "one", record.KindPolicyChanged, mustCheck(t, denyRm))
	a := l.resume(t, play(t), agent.Options{Tools: registry(t, command("Bash"))})
	if _, err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if q := a.Snapshot().Approvals; len(q) != 1 || q[0].ID != l.approval.ID {
		t.Errorf("the open approval is not in the snapshot: %+v", q)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := l.resume(t, play(t), agent.Options{Tools: registry(t, command("Bash"))})
	if _, err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Guards().Grants()); n != 1 {
		t.Errorf("%d grants remain of the run with an open approval", n)
	}
	b.Close()
}

// An interrupt right after a restart denies the open approval request like any other interrupt.
func TestInterruptBeforeReask(t *testing.T) {
	for _, answered := range []bool{false, true} {
		l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(2))
		if answered {
			l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
		}
		bash := command("Bash")
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: (&fixedAnswer{}).ask}})
		if _, err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		st, err := a.Driver(nil).Next(ctx)
		if err != nil || st.Result == nil || st.Result.Reason != event.ReasonInterrupted {
			t.Fatalf("%+v, %v", st, err)
		}
		if open, err := approval.Pending(t.Context(), l.Sessions, ""); err != nil || len(open) != 0 {
			t.Errorf("answered %v: open %+v, %v", answered, open, err)
		}
		if n := len(payloads(t, l.Sessions, "one", record.KindApprovalResolved)); n != 1 || len(bash.inputs) != 0 {
			t.Errorf("answered %v: %d answers, ran %v", answered, n, bash.inputs)
		}
		if err := transcript.Validate(a.Snapshot().Items); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An interrupt after a recorded allow and before the tool ran does not answer a second time.
func TestInterruptAfterAnswer(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash),
		Permissions: agent.Permissions{Ask: (&fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}).ask},
	}))
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(event.ToolStarted); ok {
			a.Interrupt()
		}
	}
	if n := len(payloads(t, s, "one", record.KindApprovalResolved)); n != 1 || len(bash.inputs) != 0 {
		t.Errorf("%d answers, ran %v", n, bash.inputs)
	}
	a.Close()
}

// A policy change before the session is open is recorded when it opens.
func TestEarlyChangeSurvivesKill(t *testing.T) {
	s := sessions(t)
	o := asking(agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, command("Bash"))})
	a := newAgent(t, play(t), o)
	if _, err := a.Change(t.Context(), denyRm); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The kill.
	o.Session.Takeover = true
	b := newAgent(t, play(t), o)
	if _, err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Guards().Grants()); n != 1 {
		t.Errorf("%d grants after the kill", n)
	}
	b.Close()
}

// breaking is an observer that stops the agent at a tool result.
type breaking struct{}

func (breaking) ItemAppended(_ string, it transcript.Encoded) error {
	if len(it.ResultIDs()) > 0 {
		return errors.New("the mirror broke")
	}
	return nil
}

// A session grant applies again on resume, even if the host's code stopped the agent.
func TestGrantsSurviveBrokenAgent(t *testing.T) {
	s := sessions(t)
	o := asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, command("Bash")),
		Permissions: agent.Permissions{Ask: (&fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}).ask},
	})
	broken := o
	broken.TranscriptObservers = []agent.TranscriptObserver{breaking{}}
	a := newAgent(t, play(t, pushCall(1), step{text: "1"}), broken)
	if _, err := a.Prompt(t.Context(), "go"); err == nil {
		t.Fatal("the observer did not stop the agent")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	b := newAgent(t, play(t), o)
	if _, err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Guards().Grants()); n != 1 {
		t.Errorf("%d grants", n)
	}
	b.Close()
}

// A scope written by the approver keeps its folder, even if the session is resumed in another folder.
func TestScopeKeepsFolder(t *testing.T) {
	write := func() *probe {
		return &probe{name: "Write", run: hasContent("Write", "written").run}
	}
	l := leave(t, agent.Options{Tools: registry(t, paths{write()}), Permissions: agent.Permissions{Config: policy.Config{Folders: []string{"/one"}}}}, step{uses: []transcript.ToolUse{use("c1", "Write", `"/one/src/a"`)}})
	l.answer(t, approval.Answer{Decision: approval.AllowSession, Scope: "Edit(src/**)", Actor: "bob"})
	ask := &fixedAnswer{answer: approval.Answer{Decision: approval.Deny}}
	o := agent.Options{Tools: registry(t, paths{write()}), Permissions: agent.Permissions{Ask: ask.ask, Config: policy.Config{Folders: []string{"/one"}}}}
	a := l.resume(t, play(t, step{text: "ok"}), o)
	continueRun(t, a)
	if n := len(a.Guards().Grants()); n != 1 || len(ask.asked) != 0 {
		t.Fatalf("%d grants, asked %d", n, len(ask.asked))
	}
	// The kill, and the next process runs in another folder.
	o.Permissions.Config.Folders, o.Session.Takeover = []string{"/two"}, true
	b := l.resume(t, play(t, step{uses: []transcript.ToolUse{use("c2", "Write", `"/two/src/a"`), use("c3", "Write", `"/one/src/b"`)}}, step{text: "ok"}), o)
	prompt(t, b, "again")
	if got := results(t, b); len(ask.asked) != 1 || ask.asked[0].Use != "c2" || got["c3"].IsError {
		t.Errorf("asked %d: %q, %q", len(ask.asked), got["c2"].Text(), got["c3"].Text())
	}
	b.Close()
}

// paths is a tool that writes the file in its input.
type paths struct{ *probe }

func (p paths) Requests(c *tool.Call) ([]policy.Request, error) {
	return []policy.Request{{Operation: policy.OpWrite, Resource: strings.Trim(string(c.Input), `"`)}}, nil
}

func mustCheck(t testing.TB, c policy.Change) policy.Change {
	t.Helper()
	g, err := policy.New(&policy.Config{NewID: func() string { return "g1" }, Folders: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = g.Check(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// An approval request of an earlier version does not record what exactly was shown. It is closed, and
// approval is requested again. An allow for it runs nothing.
func TestOldApprovalRequestReasked(t *testing.T) {
	for _, answered := range []bool{false, true} {
		s := sessions(t)
		log, err := s.Create(t.Context(), session.Opened{SessionID: "one"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []struct {
			kind    session.Kind
			payload string
		}{
			{record.KindTurnOpened, `{"turn":"turn-1"}`},
			{session.KindItem, `{"item":{"v":1,"id":"i1","time":"2026-05-01T09:00:00Z","role":"user","parts":[{"type":"text","text":"go"}]}}`},
			{session.KindItem, `{"item":{"v":1,"id":"i2","time":"2026-05-01T09:00:01Z","role":"assistant","parts":[{"type":"tool_use","id":"c1","name":"Bash","input":` + push + `}]}}`},
			{record.KindApprovalAsked, `{"id":"old","use_id":"c1","tool":"Bash","requests":[{"tool":"Bash","operation":"command.execute","resource":"git push","input":` + push + `}],"reason":"mode default asks","mode":"default"}`},
		} {
			if _, err := log.Append(t.Context(), session.Draft{Kind: r.kind, Payload: []byte(r.payload)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		l := suspendedSession{Sessions: s}
		l.approval.ID = "old"
		if answered {
			l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
		}
		bash := command("Bash")
		person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}})
		continueRun(t, a)
		if len(person.asked) != 1 || person.asked[0].ID == "old" || person.asked[0].Digest == "" || len(bash.inputs) != 1 {
			t.Errorf("answered %v: asked %+v, ran %v: %s", answered, person.asked, bash.inputs, results(t, a)["c1"].Text())
		}
		if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 0 {
			t.Errorf("open %+v, %v", open, err)
		}
		a.Close()
	}
}

// An allow that cannot be read, here because the home folder is unknown, does not prevent opening the
// session. A deny that cannot be read does.
func TestInvalidGrantOnResume(t *testing.T) {
	for _, effect := range []policy.Effect{policy.Allow, policy.Deny} {
		l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
		share(t, l.Sessions, "one", record.KindPolicyChanged, policy.Change{Grant: &policy.Grant{
			ID: "g", Name: "notes", Effect: effect, Tool: "Write", Scope: "Edit(~/notes/**)",
		}})
		a := l.resume(t, play(t), agent.Options{Tools: registry(t, command("Bash"))})
		opened, err := a.Start(t.Context())
		switch {
		case effect == policy.Deny && !errors.Is(err, policy.ErrInvalid):
			t.Errorf("a denial that cannot be read: %v", err)
		case effect == policy.Allow && (err != nil || len(a.Guards().Grants()) != 0 || !strings.Contains(strings.Join(opened.Notices, ";"), "notes")):
			t.Errorf("%+v, %v", opened.Notices, err)
		}
		a.Close()
	}
}
