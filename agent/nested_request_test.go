package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// host is the request of a sandboxed command to connect to a host.
func host(name string) policy.Request {
	in, _ := json.Marshal(map[string]string{"host": name})
	return policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: name + ":443", Input: in, Confined: true}
}

// connecting is a command that connects to hosts, one after another.
func connecting(hosts ...string) probe {
	return probe{name: "Bash", readOnly: true, run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		var reported []string
		for _, h := range hosts {
			if err := c.Ask(ctx, host(h)); err != nil {
				reported = append(reported, h+": "+err.Error())
				continue
			}
			reported = append(reported, h+": reached")
		}
		return tool.Text(strings.Join(reported, "\n")), nil
	}}
}

// guarded returns options of a session "one" in mode default, with rules.
func guarded(t testing.TB, s *session.Sessions, tools *tool.Registry, rules ...string) agent.Options {
	t.Helper()
	var list []policy.RuleSource
	for _, r := range rules {
		effect, text, _ := strings.Cut(r, " ")
		list = append(list, policy.RuleSource{Effect: policy.Effect(effect), Text: text})
	}
	compiled, _, err := policy.RuleOptions{Home: "/home/me", Cwd: "/w"}.Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	return agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: tools,
		Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault, Rules: compiled}},
	}
}

func bashCall(n int) step {
	var s step
	for i := range n {
		s.uses = append(s.uses, use(fmt.Sprintf("c%d", i+1), "Bash", `{}`))
	}
	return s
}

func TestNestedRequest(t *testing.T) {
	yes := approval.Answer{Decision: approval.Allow, Actor: "ann"}
	for _, c := range []struct {
		name     string
		rules    []string
		answer   *approval.Answer // nil: no approver
		err      error
		asked    int // about a.org twice and b.org once
		reported string
		reason   event.Reason
	}{
		{"allow", nil, &yes, nil, 3, "a.org: reached\na.org: reached\nb.org: reached", event.ReasonCompleted},
		{"allow for the session", nil, &approval.Answer{Decision: approval.AllowSession}, nil, 2, "a.org: reached\na.org: reached\nb.org: reached", event.ReasonCompleted},
		{"no", nil, &approval.Answer{Decision: approval.Deny, Message: "why"}, nil, 3, "a.org: permission denied: why", event.ReasonCompleted},
		{"deny for the session", nil, &approval.Answer{Decision: approval.DenySession}, nil, 2, "a.org: permission denied", event.ReasonCompleted},
		{"deny and stop", nil, &approval.Answer{Decision: approval.Deny, Stop: true}, nil, 1, "a.org: permission denied", event.ReasonInterrupted},
		{"another input", nil, &approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"host":"c"}`)}, nil, 3, "cannot be changed", event.ReasonCompleted},
		{"left open", nil, &yes, approval.ErrSuspend, 3, "cannot be suspended", event.ReasonCompleted},
		{"callback fails", nil, &yes, errors.New("the wire broke"), 3, "the wire broke", event.ReasonCompleted},
		{"no approver", nil, nil, nil, 0, "no one can answer", event.ReasonCompleted},
		{"a rule allows", []string{"allow WebFetch(domain:a.org)", "allow WebFetch(domain:b.org)"}, nil, nil, 0, "a.org: reached\na.org: reached\nb.org: reached", event.ReasonCompleted},
		{"a rule denies", []string{"deny WebFetch(domain:a.org)"}, &yes, nil, 1, "a.org: permission denied", event.ReasonCompleted},
	} {
		for _, stored := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				o := guarded(t, nil, registry(t, connecting("a.org", "a.org", "b.org")), c.rules...)
				if o.Session = (session.RestoreOptions{}); stored {
					o.Sessions = sessions(t)
				}
				person := &fixedAnswer{err: c.err}
				if c.answer != nil {
					person.answer, o.Permissions.Ask = *c.answer, person.ask
				}
				a := newAgent(t, play(t, bashCall(1), step{text: "ok"}), o)
				res := prompt(t, a, "go")
				if len(person.asked) != c.asked || res.Reason != c.reason || len(res.Denials) != 0 {
					t.Errorf("asked %d, ended by %s, denials %v", len(person.asked), res.Reason, res.Denials)
				}
				if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
					t.Errorf("got %q, want %q", got, c.reported)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The approval request is recorded before it is presented, after the start of its call, and the answer
// is recorded before it takes effect.
func TestNestedRequestRecorded(t *testing.T) {
	s := sessions(t)
	o := guarded(t, s, registry(t, connecting("a.org")))
	var q approval.Request
	o.Permissions.Ask = func(_ context.Context, asked approval.Request) (approval.Answer, error) {
		q = asked
		if ks := kinds(t, s, "one"); ks[len(ks)-1] != record.KindApprovalAsked {
			t.Errorf("approval requested, but recorded is %v", ks)
		}
		return approval.Answer{Decision: approval.AllowSession, Actor: "ann"}, nil
	}
	o.Permissions.Sandbox, o.Permissions.Profile = "kernel", "abc"
	a := newAgent(t, play(t, bashCall(1), step{text: "ok"}), o)
	prompt(t, a, "go")
	want := []session.Kind{
		"session.opened", "turn.opened", "item", "item", "decision", "tool.started",
		"approval.asked", "approval.resolved", "decision", "policy.changed", "tool.finished", "item", "item", "turn.closed",
	}
	if got := kinds(t, s, "one"); !slices.Equal(got, want) {
		t.Errorf("records %v", got)
	}
	if q.Use != "c1" || q.Tool != "WebFetch" || q.Requests[0].Resource != "a.org:443" || !q.Matches(q.Requests) || q.Sandbox != "kernel" {
		t.Errorf("asked %+v", q)
	}
	var list [2]policy.Decision // of the call, of the connection
	for i, p := range payloads(t, s, "one", record.KindDecision) {
		if err := json.Unmarshal([]byte(p), &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	call, d := list[0], list[1]
	if call.Sandbox != "none" || call.Profile != "" {
		t.Errorf("of an unconfined call: %+v", call)
	}
	if !d.PersonAsked || d.By != "ann" || d.Effect != policy.Allow || d.Use != "c1" || d.Profile != "abc" || d.Digests[0] != q.Requests[0].Digest() {
		t.Errorf("decided %+v", d)
	}
	if g := a.Guards().Grants(); len(g) != 1 || !g[0].Confined || g[0].Resource != "a.org:443" {
		t.Errorf("grants %+v", g)
	}
}

// The host of a Driver answers while the call runs.
func TestDriverAnswersNestedRequest(t *testing.T) {
	a := newAgent(t, play(t, bashCall(1), step{text: "ok"}), guarded(t, sessions(t), registry(t, connecting("a.org"))))
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	step, err := d.Next(t.Context())
	if err != nil || len(step.Approvals) == 0 || len(d.Snapshot().Approvals) != 1 {
		t.Fatalf("%+v, %v", step, err)
	}
	if again, err := d.Next(t.Context()); err != nil || again.Approvals[0].ID != step.Approvals[0].ID {
		t.Fatalf("asked again: %+v, %v", again, err)
	}
	if err := a.Submit(t.Context(), transcript.Text{Text: "more"}); !errors.Is(err, agent.ErrApprovalPending) {
		t.Errorf("input while an approval waits: %v", err)
	}
	if err := d.Resolve(t.Context(), step.Approvals[0].ID, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	if step, err = d.Next(t.Context()); err != nil || !step.AfterToolResult() {
		t.Fatalf("%+v, %v", step, err)
	}
	if got := results(t, a)["c1"].Text(); got != "a.org: reached" {
		t.Errorf("got %q", got)
	}
}

// If a call ends or is interrupted while its nested request waits, the request is closed.
func TestNestedRequestEndsWithCall(t *testing.T) {
	for _, c := range []struct {
		name     string
		end      func(*agent.Agent, context.CancelFunc)
		reason   event.Reason
		reported string
	}{
		{"the command gave up", func(_ *agent.Agent, stop context.CancelFunc) { stop() }, event.ReasonCompleted, "it gave up"},
		{"interrupted", func(a *agent.Agent, _ context.CancelFunc) { a.Interrupt() }, event.ReasonInterrupted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := session.New(memory.New(), nil)
				waiting, giveUp := context.WithCancel(context.Background())
				impatient := probe{name: "Bash", readOnly: true, run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
					ctx, stop := context.WithCancel(ctx)
					defer stop()
					defer context.AfterFunc(waiting, stop)()
					if err := c.Ask(ctx, host("a.org")); err == nil {
						t.Error("it was let through")
					}
					return tool.Text("it gave up"), nil
				}}
				o := guarded(t, s, registry(t, impatient))
				var a *agent.Agent
				o.Permissions.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
					c.end(a, giveUp)
					<-ctx.Done()
					return approval.Answer{}, context.Cause(ctx)
				}
				a = newAgent(t, play(t, bashCall(1), step{text: "ok"}), o)
				if res := prompt(t, a, "go"); res.Reason != c.reason {
					t.Errorf("ended by %s", res.Reason)
				}
				if got := results(t, a)["c1"].Text(); !strings.Contains(got, c.reported) {
					t.Errorf("got %q", got)
				}
				if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 0 {
					t.Errorf("open: %v, %v", open, err)
				}
				giveUp()
				a.Close()
			})
		})
	}
}

func TestNestedRequestAnsweredByOtherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		o := guarded(t, s, registry(t, connecting("a.org")))
		o.Permissions.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
			if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.Allow, Actor: "bob"}); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return approval.Answer{}, context.Cause(ctx)
		}
		a := newAgent(t, play(t, bashCall(1), step{text: "ok"}), o)
		prompt(t, a, "go")
		if got := results(t, a)["c1"].Text(); got != "a.org: reached" {
			t.Errorf("got %q", got)
		}
		a.Close()
	})
}

func TestNestedRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		o := guarded(t, s, registry(t, connecting("a.org")))
		o.Permissions.AskTimeout = time.Minute
		o.Permissions.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
			<-ctx.Done()
			return approval.Answer{}, context.Cause(ctx)
		}
		a := newAgent(t, play(t, bashCall(1), step{text: "ok"}), o)
		prompt(t, a, "go")
		if got := results(t, a)["c1"].Text(); !strings.Contains(got, "in time") {
			t.Errorf("got %q", got)
		}
		a.Close()
	})
}

// Concurrent nested requests are presented one by one, and one that an earlier answer covers is not
// presented.
func TestManyNestedRequests(t *testing.T) {
	parallel := probe{name: "Bash", readOnly: true, run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := c.Ask(ctx, host([]string{"a.org", "b.org"}[i%2])); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return tool.Text("done"), nil
	}}
	o := guarded(t, sessions(t), registry(t, parallel))
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}
	o.Permissions.Ask = person.ask
	prompt(t, newAgent(t, play(t, bashCall(1), step{text: "ok"}), o), "go")
	if len(person.asked) != 2 {
		t.Errorf("asked %d times", len(person.asked))
	}
}

// After kill -9 while a nested request waits, the outcome of the call is unknown. It does not run again,
// and the request is closed.
func TestNestedRequestEndsWithProcess(t *testing.T) {
	s := sessions(t)
	asked, end := make(chan struct{}), make(chan struct{})
	o := guarded(t, s, registry(t, connecting("a.org")))
	o.Permissions.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		close(asked)
		<-end // the process has been killed
		return approval.Answer{Decision: approval.Allow}, nil
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		_, _ = newAgent(t, play(t, bashCall(2), step{text: "ok"}), o).Prompt(context.Background(), "go")
	}()
	<-asked
	o.Session.Takeover = true
	o.Permissions.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		t.Error("approval was requested again")
		return approval.Answer{Decision: approval.Allow}, nil
	}
	ran := probe{name: "Bash", readOnly: true, run: func(context.Context, *tool.Call) (tool.Result, error) {
		t.Error("it runs again")
		return tool.Text(""), nil
	}}
	o.Tools = registry(t, ran)
	a := newAgent(t, play(t, step{text: "done"}), o)
	if res := prompt(t, a, "go on"); res.Reason != event.ReasonCompleted {
		t.Errorf("ended by %s", res.Reason)
	}
	if got := results(t, a)["c1"].Text(); !strings.Contains(got, "unknown") {
		t.Errorf("got %q", got)
	}
	if open, err := approval.Pending(t.Context(), s, ""); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	close(end)
	<-killed
}

// Closing an agent ends a call that a Driver's host left running.
func TestCloseEndsRunningCall(t *testing.T) {
	s := sessions(t)
	a := newAgent(t, play(t, bashCall(1)), guarded(t, s, registry(t, connecting("a.org"))))
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if step, err := d.Next(t.Context()); err != nil || len(step.Approvals) == 0 {
		t.Fatalf("%+v, %v", step, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	ks := kinds(t, s, "one")
	if want := []session.Kind{"approval.asked", "approval.resolved", "decision", "tool.finished", "item"}; !slices.Equal(ks[len(ks)-5:], want) {
		t.Errorf("records %v", ks)
	}
}
