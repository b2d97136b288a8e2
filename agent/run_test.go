package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// recordChange records a policy change like another program.
func recordChange(t testing.TB, s *session.Sessions, id string, c policy.Change) {
	t.Helper()
	m, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := session.NewDraft(record.KindPolicyChanged, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendShared(t.Context(), id, m.Head, d); err != nil {
		t.Fatal(err)
	}
}

// leadOf returns a parent in session "lead" whose sub-agent scout must push.
func leadOf(t testing.TB, s *session.Sessions, o agent.Options, steps []step, child ...step) *subagentEnv {
	t.Helper()
	o.Sessions, o.Session = s, session.RestoreOptions{SessionID: "lead", Takeover: true}
	return newSubagentEnv(t, o, steps, map[string]*fake{"scout": play(t, child...)}, kind("scout"))
}

// A session decision about an approval request of a sub-agent applies to the whole run: it is in the
// run's log and applies to all its agents, however the process ended.
func TestSubagentGrantAppliesToRun(t *testing.T) {
	for decision, ran := range map[approval.Decision]int{approval.AllowSession: 1, approval.DenySession: 0} {
		for name, end := range map[string]func(*agent.Agent) error{
			"close": (*agent.Agent).Close, "leave": (*agent.Agent).Suspend, "kill": func(*agent.Agent) error { return nil },
		} {
			t.Run(string(decision)+" "+name, func(t *testing.T) {
				s := sessions(t)
				bash, person := command("Bash"), &fixedAnswer{answer: approval.Answer{Decision: decision, Actor: "ann"}}
				o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}})
				a := leadOf(t, s, o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}, {text: "so"}}, pushCall(1), step{text: "well"})
				prompt(t, a.parent, "go")
				child := a.children()[0].ID
				if len(person.asked) != 1 || person.asked[0].Session != "lead" || person.asked[0].Asker != child || person.asked[0].Agent != "scout" {
					t.Fatalf("asked %+v", person.asked)
				}
				if got := kinds(t, s, child); slices.ContainsFunc(got, func(k session.Kind) bool {
					return k == record.KindApprovalAsked || k == record.KindApprovalResolved || k == record.KindPolicyChanged
				}) {
					t.Errorf("the sub-agent's log has %v", got)
				}
				if got := payloads(t, s, "lead", record.KindPolicyChanged); len(got) != 1 {
					t.Errorf("the run's log has the changes %v", got)
				}
				if err := end(a.parent); err != nil {
					t.Fatal(err)
				}
				o.Permissions.Config.Mode = policy.ModeBypass // this mode needs no approvals: only the grant matters
				if decision == approval.AllowSession {
					o.Permissions.Config.Mode = policy.ModeDefault
				}
				b := leadOf(t, s, o, []step{pushCall(1), {uses: []transcript.ToolUse{delegate("d2", "scout", "push", "")}}, {text: "so"}}, pushCall(1), step{text: "well"})
				prompt(t, b.parent, "again")
				if len(person.asked) != 1 || len(bash.inputs) != 3*ran {
					t.Errorf("asked %d times, ran %d times", len(person.asked), len(bash.inputs))
				}
				if list := b.parent.Guards().Grants(); len(list) != 1 || list[0].By != "ann" {
					t.Errorf("grants %+v", list)
				}
				b.parent.Close()
			})
		}
	}
}

// A change of the run's mode applies to a running sub-agent at its next decision.
func TestModeChangeReachesSubagent(t *testing.T) {
	for name, more := range map[string]string{"foreground": "", "background": `,"run_in_background":true`} {
		t.Run(name, func(t *testing.T) {
			s := sessions(t)
			bash := command("Bash")
			o := agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, Background: &agent.Background{}}
			restrict := func(context.Context) {
				recordChange(t, s, "lead", policy.Change{Mode: policy.ModeRestricted, By: "ann"})
			}
			last := step{uses: []transcript.ToolUse{use("c2", "Bash", push)}, during: restrict}
			a := leadOf(t, s, o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", more)}}, {text: "so"}, {text: "so"}}, pushCall(1), last, step{text: "well"})
			for _, err := range a.parent.Work(t.Context(), transcript.Text{Text: "go"}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(bash.inputs) != 1 || a.parent.Mode() != policy.ModeRestricted {
				t.Errorf("ran %d times, mode %s", len(bash.inputs), a.parent.Mode())
			}
			a.parent.Close()
		})
	}
}

// Revoking a sub-agent's grant in the run applies to its next decision.
func TestRevocationReachesSubagent(t *testing.T) {
	s := sessions(t)
	bash, person := command("Bash"), &fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}
	var a *subagentEnv
	revoke := func(context.Context) {
		recordChange(t, s, "lead", policy.Change{Revoke: a.parent.Guards().Grants()[0].ID, By: "ann"})
		person.answer.Decision = approval.Deny
	}
	last := step{uses: []transcript.ToolUse{use("c2", "Bash", push)}, during: revoke}
	a = leadOf(t, s, asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}}),
		[]step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}, {text: "so"}}, pushCall(1), last, step{text: "well"})
	prompt(t, a.parent, "go")
	if len(bash.inputs) != 1 || len(person.asked) != 2 || len(a.parent.Guards().Grants()) != 0 {
		t.Errorf("ran %d times, asked %d times, grants %v", len(bash.inputs), len(person.asked), a.parent.Guards().Grants())
	}
	a.parent.Close()
}

// A resumed sub-agent that was killed while it waited for approval finds the answer in the run's log, or
// asks again.
func TestSubagentFindsAnswerInRunLog(t *testing.T) {
	for name, c := range map[string]struct {
		answer     approval.Decision // given between the processes
		asks, runs int
		grants     int
	}{
		"open":            {"", 1, 1, 0},
		"allowed":         {approval.Allow, 0, 1, 0},
		"denied":          {approval.Deny, 0, 0, 0},
		"granted":         {approval.AllowSession, 0, 1, 1},
		"for the session": {approval.DenySession, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			disk := memory.New()
			s := session.New(disk, nil)
			bash, first := command("Bash"), &fixedAnswer{err: approval.ErrSuspend}
			o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: first.ask}})
			a := leadOf(t, s, o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}}, pushCall(1))
			_, _ = a.parent.Prompt(t.Context(), "go") // the process does nothing more
			asker, id := first.asked[0].Asker, first.asked[0].ID
			s = session.New(disk, nil)
			if c.answer != "" {
				if _, err := approval.Resolve(t.Context(), s, "lead", approval.Answer{RequestID: id, Decision: c.answer, Actor: "ann"}); err != nil {
					t.Fatal(err)
				}
			}
			second := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
			o.Permissions.Ask = second.ask
			b := leadOf(t, s, o, []step{{uses: []transcript.ToolUse{delegate("d2", "scout", "go on", `,"resume":"`+asker+`"`)}}, {text: "so"}}, step{text: "well"})
			prompt(t, b.parent, "go on")
			if len(second.asked) != c.asks || len(bash.inputs) != c.runs || len(b.parent.Guards().Grants()) != c.grants {
				t.Errorf("asked %+v, ran %d times, grants %v", second.asked, len(bash.inputs), b.parent.Guards().Grants())
			}
			if c.asks == 1 && second.asked[0].ID == id {
				t.Errorf("approval %s was closed when its run continued", id)
			}
			if open, err := approval.Pending(t.Context(), s, "lead"); err != nil || len(open) != 0 {
				t.Errorf("open %v %v", open, err)
			}
			b.parent.Close()
		})
	}
}

// When a run is resumed, the approval request of a sub-agent that ended with the earlier process is
// closed, and its text can be erased.
func TestDeadSubagentApprovalClosed(t *testing.T) {
	for name, end := range map[string]func(*agent.Agent) error{
		"leave": (*agent.Agent).Suspend, "kill": func(*agent.Agent) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			disk := memory.New()
			first := &fixedAnswer{err: approval.ErrSuspend}
			o := asking(agent.Options{Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: first.ask}})
			a := leadOf(t, session.New(disk, nil), o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}}, pushCall(1))
			_, _ = a.parent.Prompt(t.Context(), "go")
			if err := end(a.parent); err != nil {
				t.Fatal(err)
			}
			s := session.New(disk, nil)
			if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 1 {
				t.Fatalf("open %+v, %v: the request can still be answered", open, err)
			}
			b := leadOf(t, s, o, []step{{text: "so"}, {text: "so"}})
			if _, err := b.parent.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 0 {
				t.Errorf("open %+v %v", open, err)
			}
			if m, err := s.Get(t.Context(), "lead"); err != nil || m.OpenApprovals != 0 {
				t.Errorf("%d open approvals, %v", m.OpenApprovals, err)
			}
			prompt(t, b.parent, "never mind")
			b.parent.Close()
			done, err := s.Redact(t.Context(), "lead", session.RedactOptions{By: "ann", Mask: func(p json.RawMessage) json.RawMessage {
				return bytes.ReplaceAll(p, []byte("git push"), []byte("gone"))
			}})
			if err != nil || len(done.Remaining) != 0 {
				t.Errorf("left %+v, %v", done.Remaining, err)
			}
		})
	}
}

// A session decision about an approval request of a sub-agent applies even if the sub-agent is not
// resumed.
func TestDeadSubagentDenialApplies(t *testing.T) {
	disk := memory.New()
	s := session.New(disk, nil)
	bash, first := command("Bash"), &fixedAnswer{err: approval.ErrSuspend}
	o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: first.ask}})
	a := leadOf(t, s, o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}}, pushCall(1))
	_, _ = a.parent.Prompt(t.Context(), "go")
	s = session.New(disk, nil)
	if _, err := approval.Resolve(t.Context(), s, "lead", approval.Answer{RequestID: first.asked[0].ID, Decision: approval.DenySession, Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	o.Permissions.Config.Mode = policy.ModeBypass
	b := leadOf(t, s, o, []step{pushCall(1), {text: "so"}})
	prompt(t, b.parent, "do it yourself")
	if len(bash.inputs) != 0 {
		t.Error("a call denied for the session has run")
	}
	b.parent.Close()
}

// Of the changes that an earlier version recorded in a sub-agent's log, denials are copied to the run.
// Allowed calls and the open approval request need approval again.
func TestOldSubagentLog(t *testing.T) {
	s := sessions(t)
	lead, err := s.Create(t.Context(), session.Opened{SessionID: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	lead.Close()
	old, err := s.Create(t.Context(), session.Opened{SessionID: "old", Owner: "lead", Caller: "lead", Use: "d0"})
	if err != nil {
		t.Fatal(err)
	}
	put := func(k session.Kind, payload any) {
		t.Helper()
		d, err := session.NewDraft(k, payload)
		if err == nil {
			_, err = old.Append(t.Context(), d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	item := func(it transcript.Item) {
		t.Helper()
		e, err := it.Encode()
		if err == nil {
			_, err = old.Append(t.Context(), session.ItemDraft(e, false, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	grant := func(id, command string, e policy.Effect) policy.Change {
		return policy.Change{Grant: &policy.Grant{ID: id, Effect: e, Tool: "Bash", Operation: policy.OpCommand, Resource: command}}
	}
	put(record.KindTurnOpened, record.TurnOpened{Turn: "turn-1"})
	item(transcript.Item{ID: "i1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "go"}}})
	put(record.KindPolicyChanged, grant("g1", "git pull", policy.Allow))
	put(record.KindPolicyChanged, grant("g2", "git fetch", policy.Deny))
	item(transcript.Item{ID: "i2", Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse, Parts: []transcript.Part{
		transcript.ToolUse{ID: "c1", Name: "Bash", Input: json.RawMessage(push)},
	}})
	reqs := []policy.Request{{Session: "old", Agent: "scout", Tool: "Bash", Operation: policy.OpCommand, Resource: "git push", Input: json.RawMessage(push)}}
	put(record.KindApprovalAsked, approval.Request{ID: "q1", Session: "old", Use: "c1", Tool: "Bash", Requests: reqs, Digest: approval.Request{}.ForRequests(reqs, policy.Decision{}).Digest, Reason: record.ReasonAsk})
	old.Close()

	bash, person := command("Bash"), &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
	resume := []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "go on", `,"resume":"old"`)}}, {text: "so"}}
	a := leadOf(t, s, asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}}), resume, step{text: "well"})
	prompt(t, a.parent, "go on")
	if len(person.asked) != 1 || person.asked[0].ID == "q1" || person.asked[0].Session != "lead" || len(bash.inputs) != 1 {
		t.Errorf("asked %+v, ran %v", person.asked, bash.inputs)
	}
	for _, id := range []string{"old", "lead"} {
		if open, err := approval.Pending(t.Context(), s, id); err != nil || len(open) != 0 {
			t.Errorf("%s: open %+v %v", id, open, err)
		}
	}
	if list := a.parent.Guards().Grants(); len(list) != 1 || list[0].ID != "g2" {
		t.Errorf("grants %+v", list)
	}
	if _, err := a.parent.Change(t.Context(), policy.Change{Revoke: "g2"}); err != nil {
		t.Fatal(err)
	}
	a.parent.Close()

	b := leadOf(t, s, asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: person.ask}}), resume, step{text: "well"})
	prompt(t, b.parent, "go on")
	if list := b.parent.Guards().Grants(); len(list) != 0 {
		t.Errorf("what was revoked is back: %+v", list)
	}
	b.parent.Close()
}

// If the user resumes a sub-agent's session directly, it is a run of its own: its approval is requested
// again, in its own log.
func TestResumeSubagentSessionAlone(t *testing.T) {
	disk := memory.New()
	first := &fixedAnswer{err: approval.ErrSuspend}
	bash := command("Bash")
	o := asking(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Ask: first.ask}})
	a := leadOf(t, session.New(disk, nil), o, []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}}, pushCall(1))
	_, _ = a.parent.Prompt(t.Context(), "go")
	asker, id := first.asked[0].Asker, first.asked[0].ID
	s := session.New(disk, nil)
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
	o.Permissions.Ask, o.Sessions, o.Session = person.ask, s, session.RestoreOptions{SessionID: asker, MustExist: true, Takeover: true}
	b := newAgent(t, play(t, step{text: "well"}), o)
	continueRun(t, b)
	if len(person.asked) != 1 || person.asked[0].ID == id || person.asked[0].Session != asker || person.asked[0].Asker != "" || len(bash.inputs) != 1 {
		t.Errorf("asked %+v, ran %v", person.asked, bash.inputs)
	}
	if open, err := approval.Pending(t.Context(), s, "lead"); err != nil || len(open) != 0 {
		t.Errorf("open %+v %v", open, err)
	}
	b.Close()
}

// A fork does not inherit grants, and reports that, unless they are copied. Revoked grants stay revoked.
func TestForkDoesNotInheritGrants(t *testing.T) {
	for name, with := range map[string]bool{"without": false, "with": true} {
		t.Run(name, func(t *testing.T) {
			s := sessions(t)
			person := &fixedAnswer{answer: approval.Answer{Decision: approval.DenySession}}
			o := asking(agent.Options{Sessions: s, Tools: registry(t, command("Bash")), Permissions: agent.Permissions{Ask: person.ask}, Session: session.RestoreOptions{SessionID: "one"}})
			a := newAgent(t, play(t, pushCall(1), step{text: "so"}), o)
			prompt(t, a, "go")
			extra, err := a.Change(t.Context(), policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Bash", Operation: policy.OpCommand, Resource: "ls"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Change(t.Context(), policy.Change{Revoke: extra.Grant.ID}); err != nil {
				t.Fatal(err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			o.Session = session.RestoreOptions{SessionID: "one", Fork: true, ForkGrants: with}
			b := newAgent(t, play(t), o)
			found, err := b.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(found.Notices, func(n string) bool { return strings.Contains(n, "--with-grants") })
			if n := len(b.Guards().Grants()); (n == 1) != with || said == with {
				t.Errorf("%d grants, notices %q", n, found.Notices)
			}
			b.Close()
			c := newAgent(t, play(t), agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: found.ID}})
			if _, err := c.Start(t.Context()); err != nil || (len(c.Guards().Grants()) == 1) != with {
				t.Errorf("resumed: %v, %v", c.Guards().Grants(), err)
			}
			c.Close()
		})
	}
}
