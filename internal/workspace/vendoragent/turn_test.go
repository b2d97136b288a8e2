//go:build unix

package vendoragent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A turn is recorded in the loop's order, and the next resumes the vendor's session.
func TestTwoTurns(t *testing.T) {
	s := newVendorEnv(t)
	a := s.agent("one", agent.Options{})
	first := a.turn(t, "say hello there")
	if first.err != nil || first.res.Reason != event.ReasonCompleted || first.text() != "hello there" || first.res.Text != "hello there" {
		t.Fatalf("%+v", first)
	}
	if first.res.CostUSD != 0.25 || first.res.Usage.Input != 30 || first.res.Usage.Output != 10 {
		t.Errorf("cost %v, usage %+v", first.res.CostUSD, first.res.Usage)
	}
	second := a.turn(t, "say again")
	if second.res.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", second)
	}
	const want = "turn.opened user mapped:1 assistant closed:completed turn.opened user assistant closed:completed"
	if got := s.recordWords("one"); got != want {
		t.Errorf("the log has %s", got)
	}
	calls := s.calls()
	if len(calls) != 2 || !has(calls[0], "--session-id") || has(calls[0], "--resume") || !has(calls[1], "--resume") || has(calls[1], "--session-id") {
		t.Errorf("started %+v", calls)
	}
	if calls[1].Text != "say again" {
		t.Errorf("the resumed turn got %q", calls[1].Text)
	}
	if err := transcript.Validate(a.Snapshot().Items); err != nil {
		t.Error(err)
	}
}

// A decision is recorded before it reaches the vendor agent and before the tool runs.
func TestPermission(t *testing.T) {
	yes, no := approval.Answer{Decision: approval.Allow, Actor: "ann"}, approval.Answer{Decision: approval.Deny, Actor: "ann", Message: "not today"}
	changed := yes
	changed.Input = []byte(`{"command":"touch other"}`)
	for _, c := range []struct {
		name, text, want string
		o                agent.Options
		made             string // a file that exists afterwards
		result           string // in the result of the use
	}{
		{"allowed", "run touch it; echo made", "turn.opened user mapped:1 assistant(1) approval.asked approval.resolved decision:allow tool.started tool.finished tool assistant closed:completed", answering(yes), "it", "made"},
		{"denied", "run touch it", "turn.opened user mapped:1 assistant(1) approval.asked approval.resolved decision:deny tool assistant closed:completed", answering(no), "", "not today"},
		{"denied by a rule of the mode", "run touch it", "turn.opened user mapped:1 assistant(1) decision:deny tool assistant closed:completed", agent.Options{}, "", "no one can answer"},
		{"changed", "run touch it", "turn.opened user mapped:1 assistant(1) approval.asked approval.resolved decision:allow tool.started tool.finished tool assistant closed:completed", answering(changed), "other", ""},
		{"read inside", "read /work/there", "turn.opened user mapped:1 assistant(1) decision:allow tool.started tool.finished tool assistant closed:completed", agent.Options{}, "", ""},
		{"without asking", "unasked touch it; echo ran", "turn.opened user mapped:1 assistant(1) decision:allow tool.started tool.finished tool assistant closed:completed", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}, "it", "ran"},
		{"a sub-agent's", "sub touch it; echo sub made", "turn.opened user mapped:1 assistant(1) approval.asked approval.resolved decision:allow tool.started approval.asked approval.resolved decision:allow tool.finished tool assistant closed:completed", answering(yes), "it", "the sub-agent says: sub made"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newVendorEnv(t)
			a := s.agent("one", c.o)
			got := a.turn(t, c.text)
			if got.err != nil || got.res.Reason != event.ReasonCompleted {
				t.Fatalf("%+v", got)
			}
			if log := s.recordWords("one"); log != c.want {
				t.Errorf("the log has\n%s, want\n%s", log, c.want)
			}
			for _, name := range []string{"it", "other"} {
				_, err := os.Stat(filepath.Join(s.project, name))
				if (err == nil) != (name == c.made) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if text := results(t, a); !strings.Contains(text, c.result) {
				t.Errorf("the use came to %q", text)
			}
		})
	}
}

func results(t *testing.T, a *testAgent) string {
	t.Helper()
	var all []string
	for _, e := range a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				all = append(all, r.Text())
			}
		}
	}
	return strings.Join(all, "\n")
}

// A vendor agent that requests two approvals at once gets both answers, one after the other.
func TestTwoApprovalsAtOnce(t *testing.T) {
	s := newVendorEnv(t)
	asked := 0
	a := s.agent("one", agent.Options{Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
		asked++
		d := approval.Allow
		if asked == 2 {
			d = approval.Deny
		}
		return approval.Answer{Decision: d}, nil
	}}})
	got := a.turn(t, "both touch first | touch second")
	if got.res.Reason != event.ReasonCompleted || asked != 2 {
		t.Fatalf("asked %d, %+v", asked, got)
	}
	_, first := os.Stat(filepath.Join(s.project, "first"))
	_, second := os.Stat(filepath.Join(s.project, "second"))
	if (first == nil) == (second == nil) { // they start in parallel, in any order
		t.Errorf("first: %v, second: %v", first, second)
	}
}

// A denied use of a vendor agent that does not ask for approval ends its turn.
func TestDeniedWithoutRequest(t *testing.T) {
	s := newVendorEnv(t)
	rules, err := policy.ToolNames{"Bash"}.Deny()
	if err != nil {
		t.Fatal(err)
	}
	a := s.agent("one", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass, Policies: []policy.NamedPolicy{{Name: "no shell", Policy: rules}}}}})
	got := a.turn(t, "unasked touch it")
	if got.res.Reason != event.ReasonFailed || !strings.Contains(got.res.Err.Error(), "without asking") {
		t.Errorf("%+v", got.res)
	}
}

func TestVendorOutput(t *testing.T) {
	t.Run("lines that make no sense", func(t *testing.T) {
		s := newVendorEnv(t)
		got := s.agent("one", agent.Options{}).turn(t, "noise")
		if got.res.Text != "still here" || got.res.Reason != event.ReasonCompleted {
			t.Fatalf("%+v", got)
		}
		for _, want := range []string{"this is no event", "rate limit", "from_the_future"} {
			if strings.Count(got.notices(), want) != 1 {
				t.Errorf("%q is reported %d times in %q", want, strings.Count(got.notices(), want), got.notices())
			}
		}
	})
	t.Run("a line of 20 MB", func(t *testing.T) {
		s := newVendorEnv(t)
		got := s.agent("one", agent.Options{}).turn(t, "big 20000000")
		if len(got.res.Text) != 20_000_000 {
			t.Errorf("%d bytes came, %v", len(got.res.Text), got.res.Err)
		}
	})
	t.Run("blocks", func(t *testing.T) {
		s := newVendorEnv(t)
		a := s.agent("one", agent.Options{})
		got := a.turn(t, "blocks Hello | Bye")
		var deltas []string
		for _, e := range got.events {
			if d, ok := e.(event.TextDelta); ok {
				deltas = append(deltas, d.Text)
			}
		}
		if strings.Join(deltas, ",") != "Hello,Bye" {
			t.Errorf("deltas %q", deltas)
		}
		if items := a.Snapshot().Items; len(items) != 2 || items[1].Text() != "Hello\nBye" {
			t.Errorf("items %v", items)
		}
	})
	t.Run("an error in its own words", func(t *testing.T) {
		s := newVendorEnv(t)
		got := s.agent("one", agent.Options{}).turn(t, "refuse API Error: 529 overloaded")
		if got.res.Reason != event.ReasonFailed || !strings.Contains(got.res.Err.Error(), "529 overloaded") {
			t.Errorf("%+v", got.res)
		}
		if got := s.recordWords("one"); got != "turn.opened user mapped:1 closed:failed" {
			t.Errorf("the log has %s", got)
		}
	})
}

// An open approval request is asked again by the next agent. The vendor process that made it is gone, so an
// allowed call is not run, and the resumed agent gets that information.
func TestOpenApproval(t *testing.T) {
	s := newVendorEnv(t)
	leaving := agent.Options{Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{}, approval.ErrSuspend
	}}}
	a := s.agent("one", leaving)
	got := a.turn(t, "run touch it")
	if !errors.Is(got.err, approval.ErrSuspend) {
		t.Fatalf("%+v", got)
	}
	must(t, a.Suspend())
	a.g.Close()
	for _, p := range s.started {
		select {
		case <-p.done:
		default:
			t.Error("a process still runs")
		}
	}
	again := s.agent("one", answering(approval.Answer{Decision: approval.Allow, Actor: "ann"}))
	var res event.Result
	for e, err := range again.Run(t.Context()) {
		must(t, err)
		if r, ok := e.(event.Result); ok {
			res = r
		}
	}
	if res.Reason != event.ReasonCompleted || !strings.Contains(results(t, again), "the agent that requested it has ended") {
		t.Errorf("%+v: %s", res, results(t, again))
	}
	if _, err := os.Stat(filepath.Join(s.project, "it")); err == nil {
		t.Error("it was run")
	}
	if last := s.calls()[1]; !has(last, "--resume") || !strings.HasPrefix(last.Text, "Continue") {
		t.Errorf("started %+v", last)
	}
}
