package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// suspendedSession is a session "one" with an open approval request.
type suspendedSession struct {
	*session.Sessions
	approval approval.Request
}

// leave runs a first answer and leaves its first approval request open.
func leave(t testing.TB, o agent.Options, first step) suspendedSession {
	t.Helper()
	l := suspendedSession{Sessions: sessions(t)}
	o.Sessions, o.Session.SessionID = l.Sessions, "one"
	o.Permissions.Ask = func(_ context.Context, q approval.Request) (approval.Answer, error) {
		l.approval = q
		return approval.Answer{}, approval.ErrSuspend
	}
	a := newAgent(t, play(t, first), asking(o))
	if _, err := a.Prompt(t.Context(), "go"); !errors.Is(err, approval.ErrSuspend) {
		t.Fatalf("the run ended with %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if open, err := approval.Pending(t.Context(), l.Sessions, ""); err != nil || len(open) != 1 || open[0].ID != l.approval.ID {
		t.Fatalf("open: %+v, %v", open, err)
	}
	return l
}

// resume returns the agent of the next process.
func (l suspendedSession) resume(t testing.TB, m *fake, o agent.Options) *agent.Agent {
	t.Helper()
	o.Sessions, o.Session.SessionID = l.Sessions, "one"
	return newAgent(t, m, asking(o))
}

func (l suspendedSession) answer(t testing.TB, a approval.Answer) {
	t.Helper()
	a.RequestID = l.approval.ID
	if _, err := approval.Resolve(t.Context(), l.Sessions, "one", a); err != nil {
		t.Fatal(err)
	}
}

// continueRun runs a turn without input.
func continueRun(t testing.TB, a *agent.Agent) event.Result {
	t.Helper()
	var all []event.Event
	for e, err := range a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return last(t, all)
}

func TestApprovalSurvivesProcess(t *testing.T) {
	for _, c := range []struct {
		name     string
		before   *approval.Answer // between the processes
		after    *approval.Answer // the approver's answer in the second process
		asked    int              // approvals requested in the second process, for two calls
		ran      int
		reported string
	}{
		{"answered by the second process", nil, &approval.Answer{Decision: approval.Allow}, 2, 2, "ran"},
		{"denied by the second process", nil, &approval.Answer{Decision: approval.Deny}, 2, 0, "by the user"},
		{"no approver", nil, nil, 0, 0, "no one can answer"},
		{"allowed in between", &approval.Answer{Decision: approval.Allow, Actor: "bob"}, &approval.Answer{Decision: approval.Deny}, 1, 1, "ran"},
		{"allowed for the session in between", &approval.Answer{Decision: approval.AllowSession, Actor: "bob"}, nil, 0, 2, "ran"},
		{"denied in between", &approval.Answer{Decision: approval.Deny, Actor: "bob", Message: "no"}, &approval.Answer{Decision: approval.Deny}, 1, 0, "permission denied: no"},
		{"denied for the session in between", &approval.Answer{Decision: approval.DenySession, Actor: "bob"}, nil, 0, 0, "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := command("Bash")
			l := leave(t, agent.Options{Tools: registry(t, first)}, pushCall(2))
			if c.before != nil {
				l.answer(t, *c.before)
			}
			bash := command("Bash")
			o := agent.Options{Tools: registry(t, bash)}
			person := &fixedAnswer{}
			if c.after != nil {
				person.answer, o.Permissions.Ask = *c.after, person.ask
			}
			m := play(t, step{text: "done"})
			a := l.resume(t, m, o)
			res := continueRun(t, a)
			if res.Reason != event.ReasonCompleted || res.Turn != "turn-1" || res.Text != "done" {
				t.Errorf("%+v", res)
			}
			if len(first.inputs) != 0 || len(bash.inputs) != c.ran || len(person.asked) != c.asked {
				t.Errorf("ran %d and %d, asked %d", len(first.inputs), len(bash.inputs), len(person.asked))
			}
			if c.before == nil && c.asked > 0 && person.asked[0].ID != l.approval.ID {
				t.Error("it is another approval request")
			}
			if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
				t.Errorf("got %q, want %q", got, c.reported)
			}
			if err := transcript.Validate(a.Snapshot().Items); err != nil {
				t.Error(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := l.Verify(t.Context(), "one")
			if err != nil || !r.OK() {
				t.Errorf("%+v, %v", r, err)
			}
			if open, err := approval.Pending(t.Context(), l.Sessions, ""); err != nil || len(open) != 0 {
				t.Errorf("open: %+v, %v", open, err)
			}
		})
	}
}

func TestApprovalReaskedAfterRestart(t *testing.T) {
	l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
	for range 3 {
		person := &fixedAnswer{err: approval.ErrSuspend}
		a := l.resume(t, play(t), agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: person.ask}})
		for _, err := range a.Run(t.Context()) {
			if err != nil && !errors.Is(err, approval.ErrSuspend) {
				t.Fatal(err)
			}
		}
		if len(person.asked) != 1 || person.asked[0].ID != l.approval.ID {
			t.Fatalf("asked %+v", person.asked)
		}
		if d := cmp.Diff(l.approval, person.asked[0]); d != "" {
			t.Errorf("it is not as it was (-was +is):\n%s", d)
		}
		if err := a.Submit(t.Context(), transcript.Text{Text: "hello"}); !errors.Is(err, agent.ErrApprovalPending) {
			t.Errorf("submit: %v", err)
		}
		a.Close()
	}
	if n := len(payloads(t, l.Sessions, "one", record.KindApprovalAsked)); n != 1 {
		t.Errorf("%d approval requests recorded", n)
	}
}

func TestSameAgentAsksAgain(t *testing.T) {
	bash := command("Bash")
	person := &fixedAnswer{err: approval.ErrSuspend}
	a := newAgent(t, play(t, pushCall(1), step{text: "done"}), asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}}))
	if _, err := a.Prompt(t.Context(), "go"); !errors.Is(err, approval.ErrSuspend) {
		t.Fatal(err)
	}
	if q := a.Snapshot().Approvals; len(q) != 1 || q[0].ID != person.asked[0].ID {
		t.Errorf("approvals %+v", q)
	}
	person.err, person.answer = nil, approval.Answer{Decision: approval.Allow}
	if res := prompt(t, a, "and this"); res.Text != "done" || len(bash.inputs) != 1 {
		t.Errorf("%+v, ran %v", res, bash.inputs)
	}
	if got := roles(a.Snapshot().Items); !slices.Equal(got, []transcript.Role{"user", "assistant", "tool", "user", "assistant"}) {
		t.Errorf("items %v", got)
	}
}

func TestNewInputWaitsForRound(t *testing.T) {
	l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
	// The first attempt stays open, too: the input must survive it.
	a := l.resume(t, play(t), agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: (&fixedAnswer{err: approval.ErrSuspend}).ask}})
	if _, err := a.Prompt(t.Context(), "one more thing"); !errors.Is(err, approval.ErrSuspend) {
		t.Fatal(err)
	}
	a.Close()
	l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
	bash := command("Bash")
	b := l.resume(t, play(t, step{text: "done"}), agent.Options{Tools: registry(t, bash)})
	if res := prompt(t, b, "and another"); res.Text != "done" || len(bash.inputs) != 1 {
		t.Errorf("%+v, ran %v", res, bash.inputs)
	}
	var texts []string
	for _, e := range b.Snapshot().Items {
		if e.Role() == transcript.RoleUser {
			texts = append(texts, e.Text())
		}
	}
	if d := cmp.Diff([]string{"go", "one more thing", "and another"}, texts); d != "" {
		t.Error(d)
	}
	b.Close()
}

func TestChangedCallNotRun(t *testing.T) {
	yes := approval.Answer{Decision: approval.Allow, Actor: "bob"}
	t.Run("the file", func(t *testing.T) {
		base := "one"
		edit := changingRequestsTool{command("Edit"), &base}
		l := leave(t, agent.Options{Tools: registry(t, edit)}, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`)}})
		l.answer(t, yes)
		base = "two"
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, edit)})
		continueRun(t, a)
		if got := results(t, a)["c1"].Text(); len(edit.inputs) != 0 || !strings.Contains(got, "changed after it was approved") {
			t.Errorf("ran %v, got %q", edit.inputs, got)
		}
		a.Close()
	})
	t.Run("the policy", func(t *testing.T) {
		l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
		l.answer(t, yes)
		bash := command("Bash")
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: policy.Config{
			Limits: []policy.NamedPolicy{{Name: "managed", Policy: refusing{}}},
		}}})
		continueRun(t, a)
		if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || !strings.Contains(got, "permission denied: never") {
			t.Errorf("ran %v, got %q", bash.inputs, got)
		}
		a.Close()
	})
	t.Run("the tool", func(t *testing.T) {
		l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(2))
		l.answer(t, yes)
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{})
		continueRun(t, a)
		if got := results(t, a)["c1"].Text(); !strings.Contains(got, "no longer available") {
			t.Errorf("got %q", got)
		}
		a.Close()
	})
	t.Run("the time", func(t *testing.T) {
		now := time.Now()
		l := leave(t, agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{AskTimeout: time.Minute}, Clock: func() time.Time { return now }}, pushCall(1))
		now = now.Add(time.Hour)
		bash, person := command("Bash"), &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}, Clock: func() time.Time { return now }})
		continueRun(t, a)
		if got := results(t, a)["c1"].Text(); len(bash.inputs) != 0 || len(person.asked) != 0 || !strings.Contains(got, "in time") {
			t.Errorf("ran %v, asked %d, got %q", bash.inputs, len(person.asked), got)
		}
		a.Close()
	})
}

// The callback's input is shown for approval, and it is the input that runs.
func TestReplacedInputSurvivesProcess(t *testing.T) {
	const safe = `{"command":"git push --dry-run"}`
	p := policy.Config{CanUseTool: fixedVerdict(policy.Verdict{Effect: policy.Allow, Input: []byte(`{ "command" : "git push --dry-run" }`)}), Limits: []policy.NamedPolicy{{Name: "careful", Policy: askingAlways{}}}}
	l := leave(t, agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Config: p}}, pushCall(1))
	if got := l.approval.Requests[0].Resource; got != "git push --dry-run" {
		t.Fatalf("asked about %q", got)
	}
	l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
	bash := command("Bash")
	a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: p}})
	continueRun(t, a)
	if !slices.Equal(bash.inputs, []string{safe}) || !bash.resumed[0] {
		t.Errorf("ran %v, resumed %v: %q", bash.inputs, bash.resumed, results(t, a)["c1"].Text())
	}
	a.Close()
}

type askingAlways struct{}

func (askingAlways) Evaluate(policy.Request) policy.Verdict {
	return policy.Verdict{Effect: policy.Ask, Reason: "always"}
}

func TestApprovedEditRunsInNextProcess(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	desk := func() *tool.Registry {
		f, err := files.New(folders, nil)
		if err != nil {
			t.Fatal(err)
		}
		return registry(t, f.Tools()...)
	}
	name := filepath.Join(dir, "a.txt")
	for _, c := range []struct {
		meddle   bool
		want     string
		reported string
	}{
		{false, "two\n", "Successfully edited"},
		{true, "one, but longer\n", "changed after it was approved"},
	} {
		if err := os.WriteFile(name, []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l := leave(t, agent.Options{Tools: desk(), Permissions: agent.Permissions{Config: policy.Config{Folders: []string{dir}}}}, step{uses: []transcript.ToolUse{
			use("c0", "Read", `{"file_path":"a.txt"}`), use("c1", "Edit", `{"file_path":"a.txt","old_string":"one","new_string":"two"}`),
		}})
		if shown := l.approval.Requests[0].Display; !strings.Contains(shown, "+two") {
			t.Errorf("shown %q", shown)
		}
		if c.meddle {
			if err := os.WriteFile(name, []byte(c.want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
		a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: desk(), Permissions: agent.Permissions{Config: policy.Config{Folders: []string{dir}}}})
		continueRun(t, a)
		got, err := os.ReadFile(name)
		if err != nil || string(got) != c.want {
			t.Errorf("the file holds %q, %v", got, err)
		}
		if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
			t.Errorf("got %q, want %q", got, c.reported)
		}
		a.Close()
	}
}

// A grant applies for the life of the session, until it is revoked.
func TestGrantsSurviveKillAndClose(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}
	o := asking(agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}})
	a := newAgent(t, play(t, pushCall(1), step{text: "1"}), o)
	prompt(t, a, "go")
	// The kill: the agent does nothing more.
	o.Session.Takeover = true
	b := newAgent(t, play(t, pushCall(1), step{text: "2"}), o)
	prompt(t, b, "again")
	if len(person.asked) != 1 || len(bash.inputs) != 2 || len(b.Guards().Grants()) != 1 {
		t.Errorf("after a kill: asked %d, ran %d, %d grants", len(person.asked), len(bash.inputs), len(b.Guards().Grants()))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := newAgent(t, play(t, pushCall(1), step{text: "3"}), o)
	prompt(t, c, "again")
	if len(person.asked) != 1 || len(bash.inputs) != 3 {
		t.Errorf("after a close: asked %d, ran %d", len(person.asked), len(bash.inputs))
	}
	if _, err := c.Change(t.Context(), policy.Change{Revoke: c.Guards().Grants()[0].ID, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	d := newAgent(t, play(t, pushCall(1), step{text: "4"}), o)
	prompt(t, d, "again")
	if len(person.asked) != 2 {
		t.Errorf("after it was revoked: asked %d", len(person.asked))
	}
	d.Close()
}

func TestRunWithOpenApproval(t *testing.T) {
	l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(2))
	l.answer(t, approval.Answer{Decision: approval.AllowSession, Actor: "bob"})
	bash := command("Bash")
	other := step{uses: []transcript.ToolUse{use("c3", "Bash", `{"command":"rm x"}`)}}
	a := l.resume(t, play(t, other), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: (&fixedAnswer{err: approval.ErrSuspend}).ask}})
	for _, err := range a.Run(t.Context()) {
		if err != nil && !errors.Is(err, approval.ErrSuspend) {
			t.Fatal(err)
		}
	}
	a.Close() // leaves the approval request for c3 open
	b := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: (&fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}).ask}})
	continueRun(t, b)
	if len(bash.inputs) != 3 || len(b.Guards().Grants()) != 1 {
		t.Errorf("ran %v with %d grants", bash.inputs, len(b.Guards().Grants()))
	}
	b.Close()
}

func TestDriverWithOpenApproval(t *testing.T) {
	l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
	bash := command("Bash")
	a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash)})
	d := a.Driver(nil)
	st, err := d.Next(t.Context())
	if err != nil || len(st.Approvals) == 0 || st.Approvals[0].ID != l.approval.ID || st.Turn != "turn-1" {
		t.Fatalf("%+v, %v", st, err)
	}
	if err := d.Resolve(t.Context(), l.approval.ID, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	for st.Result == nil {
		if st, err = d.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(bash.inputs) != 1 {
		t.Errorf("ran %v", bash.inputs)
	}
	a.Close()
}

// Invalid records do not allow anything.
func TestResumeBadRecords(t *testing.T) {
	for name, ans := range map[string]approval.Answer{
		"scope is not a rule":    {Decision: approval.AllowSession, Scope: "Bash(((", Actor: "bob"},
		"scope for another tool": {Decision: approval.AllowSession, Scope: "Edit", Actor: "bob"},
		"unknown decision":       {Decision: "sure", Actor: "bob"},
		"input for the session":  {Decision: approval.Deny, Input: []byte(`{"command":"rm"}`), Actor: "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			l := leave(t, agent.Options{Tools: registry(t, command("Bash"))}, pushCall(1))
			ans.RequestID = l.approval.ID
			d, err := session.NewDraft(record.KindApprovalResolved, ans)
			if err != nil {
				t.Fatal(err)
			}
			m, err := l.Get(t.Context(), "one")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.AppendShared(t.Context(), "one", m.Head, d); err != nil {
				t.Fatal(err)
			}
			bash := command("Bash")
			a := l.resume(t, play(t, step{text: "ok"}), agent.Options{Tools: registry(t, bash)})
			if res := continueRun(t, a); len(bash.inputs) != 0 || len(res.Denials) != 1 || len(a.Guards().Grants()) != 0 {
				t.Errorf("ran %v, denials %+v", bash.inputs, res.Denials)
			}
			a.Close()
		})
	}
}

func TestTakenOverRunNotEnded(t *testing.T) {
	s := sessions(t)
	o := asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, command("Bash")),
		Permissions: agent.Permissions{Ask: (&fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}).ask},
	})
	a := newAgent(t, play(t, pushCall(1), step{text: "1"}), o)
	prompt(t, a, "go")
	o.Session.Takeover = true
	b := newAgent(t, play(t, step{text: "2"}), o)
	prompt(t, b, "mine now")
	if err := a.Close(); err != nil {
		t.Errorf("close of the one that lost the session: %v", err)
	}
	for _, p := range payloads(t, s, "one", record.KindPolicyChanged) {
		if strings.Contains(p, "ended") {
			t.Error("the run was ended by the one that lost it")
		}
	}
	b.Close()
}
