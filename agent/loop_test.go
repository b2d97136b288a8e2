package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestToolRoundThenAnswer(t *testing.T) {
	m := play(t,
		step{text: "let me look", uses: []transcript.ToolUse{use("c1", "Look", `{}`)}},
		step{text: "done"},
	)
	a := newAgent(t, m, agent.Options{Tools: registry(t, hasContent("Look", "seen"))})
	all := events(t, a, "hi")
	var reported []string
	for _, e := range all {
		switch e := e.(type) {
		case event.SessionOpened:
			reported = append(reported, "opened")
		case event.TurnStarted:
			reported = append(reported, "turn "+e.Turn)
		case event.TextDelta:
			reported = append(reported, "delta "+e.Text)
		case event.ItemAppended:
			reported = append(reported, "item "+string(e.Item.Role()))
		case event.DecisionMade:
			reported = append(reported, "decided "+string(e.Decision.Effect))
		case event.ToolStarted:
			reported = append(reported, "started "+e.Tool)
		case event.ToolFinished:
			reported = append(reported, "finished "+e.Content[0].(transcript.Text).Text)
		case event.TurnFinished:
			reported = append(reported, "end "+string(e.Reason))
		case event.Result:
			reported = append(reported, "result "+e.Text)
		}
	}
	want := []string{
		"opened", "turn turn-1", "item user", "delta let me look", "item assistant", "decided allow", "started Look",
		"finished seen", "item tool", "delta done", "item assistant", "end completed", "result let me look\ndone",
	}
	if d := cmp.Diff(want, reported); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestEveryCallGetsExactlyOneResult(t *testing.T) {
	boom := probe{name: "Boom", run: func(context.Context, *tool.Call) (tool.Result, error) { panic("bang") }}
	fails := probe{name: "Fails", run: func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("kaboom")
	}}
	for _, c := range []struct {
		name, tool, want string
	}{
		{"unknown tool", "multiply", "tool not found: multiply"},
		{"a tool that fails", "Fails", "tool execution failed: kaboom"},
		{"a tool that panics", "Boom", "tool execution failed: panic: bang"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := play(t, step{uses: []transcript.ToolUse{use("c1", c.tool, `{}`)}}, step{text: "ok"})
			a := newAgent(t, m, agent.Options{Tools: registry(t, boom, fails)})
			prompt(t, a, "go")
			items := a.Snapshot().Items
			it, err := items[2].Decode()
			if err != nil {
				t.Fatal(err)
			}
			r := it.Parts[0].(transcript.ToolResult)
			if !r.IsError || !strings.HasPrefix(r.Text(), c.want) {
				t.Errorf("result %q (error %v), want %q", r.Text(), r.IsError, c.want)
			}
		})
	}
}

func TestReadOnlyCallsParallelResultsOrdered(t *testing.T) {
	const n = 4
	gate := make(chan struct{})
	arrived := make(chan string, n)
	look := probe{name: "Look", readOnly: true, run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		arrived <- c.ID
		if len(arrived) == n {
			close(gate)
		}
		<-gate // opens only when all four calls run
		return tool.Text("saw " + c.ID), nil
	}}
	var uses []transcript.ToolUse
	for _, id := range []string{"a", "b", "c", "d"} {
		uses = append(uses, use(id, "Look", `{}`))
	}
	m := play(t, step{uses: uses}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, look)})
	prompt(t, a, "go")
	var got []string
	for _, e := range a.Snapshot().Items {
		got = append(got, e.ResultIDs()...)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "d"}, got); d != "" {
		t.Errorf("results out of order:\n%s", d)
	}
}

func TestWritesRunInOrder(t *testing.T) {
	state := "old"
	write := probe{name: "Write", run: func(context.Context, *tool.Call) (tool.Result, error) {
		state = "new"
		return tool.Text("written"), nil
	}}
	read := probe{name: "Read", readOnly: true, run: func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(state), nil
	}}
	m := play(t, step{uses: []transcript.ToolUse{
		use("r0", "Read", `{}`), use("w", "Write", `{}`), use("r1", "Read", `{}`),
	}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, write, read)})
	prompt(t, a, "go")
	items := a.Snapshot().Items
	var got []string
	for _, e := range items[2:5] {
		it, _ := e.Decode()
		got = append(got, it.Parts[0].(transcript.ToolResult).Text())
	}
	if d := cmp.Diff([]string{"old", "written", "new"}, got); d != "" {
		t.Error(d)
	}
}

func TestOutputLimitContinues(t *testing.T) {
	cut := func(s string) step { return step{text: s, finish: transcript.FinishMaxTokens} }
	m := play(t, cut("Part 1"), cut("Part 2"), step{text: "Part 3"})
	res := prompt(t, newAgent(t, m, agent.Options{}), "tell me")
	for _, part := range []string{"Part 1", "Part 2", "Part 3"} {
		if !strings.Contains(res.Text, part) {
			t.Errorf("%q is missing in %q", part, res.Text)
		}
	}
	m = play(t, cut("1"), cut("2"), cut("3"), cut("4"), step{text: "never"})
	res = prompt(t, newAgent(t, m, agent.Options{}), "tell me")
	if res.Reason != event.ReasonCompleted || res.Text != "1\n2\n3\n4" {
		t.Errorf("after four cuts: %s, %q", res.Reason, res.Text)
	}
}

func TestLimits(t *testing.T) {
	loop := step{uses: []transcript.ToolUse{use("c", "Look", `{}`)}, usage: &transcript.Usage{Input: 1e6}}
	for _, c := range []struct {
		name  string
		o     agent.Options
		want  event.Reason
		turns int
	}{
		{"turns", agent.Options{Limits: agent.Limits{MaxTurns: 2}}, event.ReasonMaxTurns, 2},
		{"money", agent.Options{Limits: agent.Limits{MaxBudgetUSD: 5}}, event.ReasonBudget, 2},
		{"tokens", agent.Options{Limits: agent.Limits{MaxTotalTokens: 2e6}}, event.ReasonBudget, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := play(t, loop, loop, loop, loop)
			m.info.Price = &model.Price{Input: 3}
			c.o.Tools = registry(t, hasContent("Look", "x"))
			res := prompt(t, newAgent(t, m, c.o), "go")
			if res.Reason != c.want || res.Turns != c.turns {
				t.Errorf("ended by %s after %d calls, want %s after %d", res.Reason, res.Turns, c.want, c.turns)
			}
		})
	}
}

func TestInterruptKeepsPartialAnswer(t *testing.T) {
	var a *agent.Agent
	m := play(t, step{text: "half an ans", during: func(context.Context) { a.Interrupt() }}, step{text: "again"})
	a = newAgent(t, m, agent.Options{})
	res := prompt(t, a, "go")
	if res.Reason != event.ReasonInterrupted {
		t.Fatalf("ended by %s", res.Reason)
	}
	it, _ := a.Snapshot().Items[1].Decode()
	if it.Text() != "half an ans" || it.Finish != transcript.FinishCancelled || string(it.Metadata["interrupted"]) != "true" {
		t.Errorf("kept %+v", it)
	}
	if res := prompt(t, a, "go on"); res.Text != "again" {
		t.Errorf("after the interrupt: %+v", res)
	}
}

func TestInterruptAnswersEveryOpenCall(t *testing.T) {
	var a *agent.Agent
	stop := probe{name: "Stop", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		a.Interrupt()
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Stop", `{}`), use("b", "Stop", `{}`)}}, step{text: "later"})
	a = newAgent(t, m, agent.Options{Tools: registry(t, stop)})
	res := prompt(t, a, "go")
	if res.Reason != event.ReasonInterrupted {
		t.Fatalf("ended by %s", res.Reason)
	}
	if err := transcript.Validate(a.Snapshot().Items); err != nil {
		t.Error(err)
	}
	if res := prompt(t, a, "go on"); res.Reason != event.ReasonCompleted {
		t.Errorf("after the interrupt: %s %v", res.Reason, res.Err)
	}
}

func TestInterruptDeniesApproval(t *testing.T) {
	var a *agent.Agent
	ask := func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		a.Interrupt()
		<-ctx.Done()
		return approval.Answer{}, ctx.Err()
	}
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Edit", `{}`), use("b", "Edit", `{}`)}}, step{text: "later"})
	a = newAgent(t, m, agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault}, Ask: ask}, Tools: registry(t, hasContent("Edit", "edited"))})
	if res := prompt(t, a, "go"); res.Reason != event.ReasonInterrupted {
		t.Fatalf("ended by %s", res.Reason)
	}
	s := a.Snapshot()
	if err := transcript.Validate(s.Items); err != nil || len(s.Approvals) != 0 {
		t.Errorf("%v, %d approvals are open", err, len(s.Approvals))
	}
	if res := prompt(t, a, "go on"); res.Text != "later" {
		t.Errorf("after the interrupt: %+v", res)
	}
}

func TestBreakingOutInterrupts(t *testing.T) {
	ran := 0
	count := probe{name: "Count", run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran++
		return tool.Text("x"), nil
	}}
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Count", `{}`)}}, step{text: "more"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, count)})
	for e := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if _, ok := e.(event.ToolStarted); ok {
			break
		}
	}
	if ran != 0 {
		t.Errorf("the tool ran %d times after the reader had stopped", ran)
	}
	if err := transcript.Validate(a.Snapshot().Items); err != nil {
		t.Error(err)
	}
}

func TestPermission(t *testing.T) {
	ran := 0
	edit := probe{name: "Edit", run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran++
		return tool.Text("edited"), nil
	}}
	answers := func(a approval.Answer) func(context.Context, approval.Request) (approval.Answer, error) {
		return func(context.Context, approval.Request) (approval.Answer, error) { return a, nil }
	}
	for _, c := range []struct {
		name    string
		o       agent.Options
		ran     int
		denials int
		reason  event.Reason
	}{
		{"no approver", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault}}}, 0, 1, event.ReasonCompleted},
		{"allow", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault}, Ask: answers(approval.Answer{Decision: approval.Allow})}}, 1, 0, event.ReasonCompleted},
		{"no", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModePlan}, Ask: answers(approval.Answer{Decision: approval.Deny, Message: "not now"})}}, 0, 1, event.ReasonCompleted},
		{"deny and stop", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModePlan}, Ask: answers(approval.Answer{Decision: approval.Deny, Stop: true})}}, 0, 1, event.ReasonInterrupted},
		{"bypass", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}, 1, 0, event.ReasonCompleted},
		{"edits", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeAcceptEdits}}}, 1, 0, event.ReasonCompleted},
		{"a policy's deny beats bypass", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass, Policies: []policy.NamedPolicy{{Name: "refusing", Policy: refusing{}}}}}}, 0, 1, event.ReasonCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			ran = 0
			m := play(t, step{uses: []transcript.ToolUse{use("a", "Edit", `{}`)}}, step{text: "ok"})
			c.o.Tools = registry(t, edit)
			res := prompt(t, newAgent(t, m, c.o), "go")
			if ran != c.ran || len(res.Denials) != c.denials || res.Reason != c.reason {
				t.Errorf("ran %d, denied %d, ended by %s", ran, len(res.Denials), res.Reason)
			}
		})
	}
}

type refusing struct{}

func (refusing) Evaluate(policy.Request) policy.Verdict {
	return policy.Verdict{Effect: policy.Deny, Reason: "never"}
}

func TestDriverSteps(t *testing.T) {
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Edit", `{}`)}}, step{text: "done"})
	a := newAgent(t, m, agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault}}, Tools: registry(t, hasContent("Edit", "edited"))})
	d := a.Driver(nil)
	next := func() agent.DriverState {
		t.Helper()
		s, err := d.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := next(); !s.AwaitingInput {
		t.Fatalf("first step %+v", s)
	}
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	s := next()
	if len(s.Approvals) != 1 {
		t.Fatalf("second step %+v", s)
	}
	if again := next(); again.Approvals[0].ID != s.Approvals[0].ID {
		t.Error("an open approval request was not returned again")
	}
	if err := d.Submit(t.Context(), transcript.Text{Text: "and"}); !errors.Is(err, agent.ErrApprovalPending) {
		t.Errorf("submit while an approval waits: %v", err)
	}
	if err := d.Resolve(t.Context(), "nonsense", approval.Answer{}); !errors.Is(err, approval.ErrNoRequest) {
		t.Errorf("resolve of an unknown request: %v", err)
	}
	if err := d.Resolve(t.Context(), s.Approvals[0].ID, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	if s = next(); !s.AfterToolResult() {
		t.Errorf("the tool has run, and the step is %+v", s)
	}
	if s = next(); s.Result == nil {
		t.Errorf("the turn is over, and the step is %+v", s)
	}
	if s = next(); !s.AwaitingInput {
		t.Errorf("there is nothing to do, and the step is %+v", s)
	}
}

func TestQueuedInputAdmittedAfterRound(t *testing.T) {
	var a *agent.Agent
	steer := probe{name: "Steer", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		return tool.Text("x"), a.Submit(ctx, transcript.Text{Text: "also this"})
	}}
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Steer", `{}`)}}, step{text: "ok"})
	a = newAgent(t, m, agent.Options{Tools: registry(t, steer)})
	prompt(t, a, "go")
	want := []transcript.Role{"user", "assistant", "tool", "user", "assistant"}
	if d := cmp.Diff(want, roles(a.Snapshot().Items)); d != "" {
		t.Error(d)
	}
}

func TestDuplicateCallIDsAreRenamed(t *testing.T) {
	call := step{uses: []transcript.ToolUse{use("call_0", "Look", `{}`), use("call_0", "Look", `{}`)}}
	m := play(t, call, call, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, hasContent("Look", "x"))})
	if res := prompt(t, a, "go"); res.Reason != event.ReasonCompleted {
		t.Fatalf("%s: %v", res.Reason, res.Err)
	}
	if err := transcript.Validate(a.Snapshot().Items); err != nil {
		t.Error(err)
	}
}
