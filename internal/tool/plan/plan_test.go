package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/plan"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// planner is an agent with plan mode, and a tool that changes something.
type planner struct {
	t        testing.TB
	a        *agent.Agent
	o        *agent.Options
	sessions *session.Sessions
	wrote    int
	usual    bool // its mode is that of every run
	asked    []approval.Request
}

type note struct {
	Text string `json:"text"`
}

func newPlanner(t testing.TB, p *planner, mode policy.Mode, ask func(q approval.Request) (approval.Answer, error), steps ...string) *planner {
	t.Helper()
	if p == nil {
		p = &planner{t: t, sessions: session.New(memory.New(), nil)}
	}
	tools, err := plan.New(plan.Options{
		Mode: func() policy.Mode { return p.a.Mode() },
		Change: func(ctx context.Context, m policy.Mode) error {
			_, err := p.a.Change(ctx, policy.Change{Mode: m, By: "tool ExitPlanMode"})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	write, err := tool.New(tool.Spec{Name: "Write"}, func(context.Context, *tool.Call, note) (tool.Result, error) {
		p.wrote++
		return tool.Text("written"), nil
	}, func(*tool.Call, note) ([]policy.Request, error) {
		return []policy.Request{{Operation: policy.OpWrite, Resource: "/w/a"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tool.NewRegistry(append(tools, write)...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New([]byte("steps: ["+strings.Join(steps, ", ")+"]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, _, err := policy.RuleOptions{Home: "/", Cwd: "/w"}.Compile([]policy.RuleSource{{Effect: policy.Allow, Text: "Write"}, {Effect: policy.Allow, Text: "ExitPlanMode"}})
	if err != nil {
		t.Fatal(err)
	}
	p.o = &agent.Options{
		Sessions: p.sessions, Session: session.RestoreOptions{SessionID: "s"}, Tools: registry,
		Permissions: agent.Permissions{
			DefaultMode: p.usual,
			Config:      policy.Config{Mode: mode, Folders: []string{"/w"}, Rules: rules},
		},
	}
	if ask != nil {
		p.o.Permissions.Ask = func(_ context.Context, q approval.Request) (approval.Answer, error) {
			p.asked = append(p.asked, q)
			return ask(q)
		}
	}
	if p.a, err = agent.New(m, p.o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.a.Close() })
	return p
}

// run runs one prompt and returns what the model has read of its tools and of plan mode.
func (p *planner) run() string {
	p.t.Helper()
	if res, err := p.a.Prompt(p.t.Context(), "go"); err != nil || res.Reason != event.ReasonCompleted {
		p.t.Fatalf("%+v, %v", res, err)
	}
	return p.read()
}

func (p *planner) read() string {
	var b strings.Builder
	for _, e := range p.a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, part := range it.Parts {
			switch part := part.(type) {
			case transcript.ToolResult:
				fmt.Fprintln(&b, "result:", transcript.Item{Parts: part.Content}.Text())
			case transcript.Text:
				if it.Role == transcript.RoleNotification {
					fmt.Fprintln(&b, "told:", part.Text)
				}
			}
		}
	}
	return b.String()
}

// use is a step of a play that uses a tool.
func use(name string, input any) string {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("{tool_uses: [{tool: %s, input: %s}]}", name, b)
}

var (
	enter = use("EnterPlanMode", nil)
	exit  = use("ExitPlanMode", map[string]any{"plan": "1. write\n2. test"})
	write = use("Write", map[string]any{"text": "x"})
	done  = "{text: done}"
)

// approvePlan agrees to a plan, and says no to everything else.
func approvePlan(mode policy.Mode) func(q approval.Request) (approval.Answer, error) {
	return func(q approval.Request) (approval.Answer, error) {
		if q.Plan() == "" {
			return approval.Answer{Decision: approval.Deny, Message: "not now"}, nil
		}
		in, err := q.PlanInput(mode)
		return approval.Answer{Decision: approval.Allow, Input: in, Actor: "ann"}, err
	}
}

func TestPlanIsCarriedOutOnceAPersonAgrees(t *testing.T) {
	for mode, want := range map[policy.Mode]policy.Mode{"": policy.ModeDefault, "default": policy.ModeDefault, "acceptEdits": policy.ModeAcceptEdits} {
		ask := approvePlan(mode)
		if mode == "" { // whoever answers says no more than yes
			ask = func(q approval.Request) (approval.Answer, error) {
				d := approval.Deny
				if q.Plan() != "" {
					d = approval.Allow
				}
				return approval.Answer{Decision: d}, nil
			}
		}
		p := newPlanner(t, nil, "", ask, enter, write, exit, write, done)
		read := p.run()
		if p.a.Mode() != want || p.wrote != 1 {
			t.Errorf("%q: mode %s, wrote %d times\n%s", mode, p.a.Mode(), p.wrote, read)
		}
		if len(p.asked) != 2 || p.asked[0].Tool != "Write" || p.asked[1].Plan() != "1. write\n2. test" || p.asked[1].Requests[0].Display != p.asked[1].Plan() || len(p.asked[1].Scopes) > 0 {
			t.Errorf("%q: asked %+v", mode, p.asked)
		}
		for _, part := range []string{"told: Plan mode is on", "call ExitPlanMode", "result: The user approved the plan. Carry it out; the permission mode is " + string(want), "told: Plan mode is off; the permission mode is " + string(want)} {
			if strings.Count(read, part) != 1 {
				t.Errorf("%q: %q is there %d times in\n%s", mode, part, strings.Count(read, part), read)
			}
		}
		if changes := p.changes(); !slices.Equal(changes, []string{"plan", string(want)}) {
			t.Errorf("%q: the log has the changes %q", mode, changes)
		}
	}
}

func (p *planner) changes() (modes []string) {
	for r, err := range p.sessions.Records(context.Background(), "s", session.Range{}) {
		if err != nil {
			p.t.Fatal(err)
		}
		var c policy.Change
		if r.Kind == record.KindPolicyChanged && json.Unmarshal(r.Payload, &c) == nil && c.Mode != "" {
			modes = append(modes, string(c.Mode))
		}
	}
	return modes
}

func TestPlanIsSentBack(t *testing.T) {
	said := 0
	p := newPlanner(t, nil, policy.ModePlan, func(q approval.Request) (approval.Answer, error) {
		if said++; said == 1 {
			return approval.Answer{Decision: approval.Deny, Message: "also the docs"}, nil
		}
		return approval.Answer{Decision: approval.Deny}, nil
	}, exit, exit, done)
	read := p.run()
	for _, part := range []string{"rejected the plan and wrote: also the docs\nPlan mode stays active", "rejected the plan. Plan mode stays active"} {
		if !strings.Contains(read, part) {
			t.Errorf("%q is not in\n%s", part, read)
		}
	}
	if p.a.Mode() != policy.ModePlan {
		t.Error(p.a.Mode())
	}
}

// Nobody, no mode and no input of the model's makes a plan pass.
func TestPlanNeedsAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		mode policy.Mode
		ask  func(approval.Request) (approval.Answer, error)
		step string
		says string
	}{
		"nobody":        {policy.ModePlan, nil, exit, "No one can answer: the plan is not approved"},
		"the model":     {policy.ModePlan, approvePlan(""), use("ExitPlanMode", map[string]any{"plan": "p", "mode": "acceptEdits"}), "omit mode: the user chooses it"},
		"no plan":       {policy.ModePlan, approvePlan(""), use("ExitPlanMode", map[string]any{"plan": " "}), "plan: must not be empty"},
		"too much":      {policy.ModePlan, approvePlan(""), use("ExitPlanMode", map[string]any{"plan": strings.Repeat("p", 65<<10)}), "plan: at most 65536 bytes"},
		"not in it":     {policy.ModeBypass, approvePlan(""), exit, "plan mode is not active"},
		"a looser mode": {policy.ModePlan, approvePlan(policy.ModeBypass), exit, "the mode for a plan must be default or acceptEdits"},
	} {
		p := newPlanner(t, nil, c.mode, c.ask, c.step, done)
		if read := p.run(); !strings.Contains(read, c.says) || p.a.Mode() != c.mode {
			t.Errorf("%s: mode %s\n%s", name, p.a.Mode(), read)
		}
	}
}

func TestEnteringOnlyNarrows(t *testing.T) {
	for mode, says := range map[policy.Mode]string{
		policy.ModeDontAsk: "stricter than plan mode", policy.ModeSilent: "stricter", policy.ModeRestricted: "stricter", policy.ModePlan: "already active",
	} {
		p := newPlanner(t, nil, mode, nil, enter, done)
		if read := p.run(); !strings.Contains(read, says) || p.a.Mode() != mode {
			t.Errorf("%s: mode %s\n%s", mode, p.a.Mode(), read)
		}
	}
	p := newPlanner(t, nil, policy.ModeBypass, nil, enter, write, done)
	if read := p.run(); p.wrote > 0 || p.a.Mode() != policy.ModePlan {
		t.Errorf("in plan mode it wrote\n%s", read)
	}
}

// A plan that waits outlives its process, in plan mode; without one the next process is
// out of plan mode, and the model is told.
func TestPlanOverARestart(t *testing.T) {
	leave := func(approval.Request) (approval.Answer, error) { return approval.Answer{}, approval.ErrSuspend }
	p := newPlanner(t, nil, policy.ModePlan, nil, done)
	if _, err := p.a.Change(t.Context(), policy.Change{Mode: policy.ModePlan}); err != nil { // as a person does
		t.Fatal(err)
	}
	p.run()
	p.a.Close()

	p = newPlanner(t, p, "", nil, done, done)
	if read := p.run(); p.a.Mode() != policy.ModeDefault || !strings.Contains(read, "Plan mode is off; the permission mode is default") {
		t.Errorf("mode %s\n%s", p.a.Mode(), read)
	}
	p.a.Close()

	p = newPlanner(t, p, "", leave, done, done, enter, exit)
	if _, err := p.a.Prompt(t.Context(), "go"); err == nil {
		t.Fatal("nobody was asked")
	}
	p.a.Close()
	open, err := approval.Pending(t.Context(), p.sessions, "s")
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	in, err := open[0].PlanInput(policy.ModeAcceptEdits)
	if err == nil {
		_, err = approval.Resolve(t.Context(), p.sessions, "s", approval.Answer{RequestID: open[0].ID, Decision: approval.Allow, Input: in, Actor: "ann"})
	}
	if err != nil {
		t.Fatal(err)
	}
	p = newPlanner(t, p, "", nil, done, done, enter, exit, write, done)
	if _, err := p.a.Prompt(t.Context(), ""); err != nil && !strings.Contains(err.Error(), "nothing") {
		t.Fatal(err)
	}
	if p.a.Mode() != policy.ModeAcceptEdits || !strings.Contains(p.read(), "The user approved the plan") {
		t.Errorf("mode %s\n%s", p.a.Mode(), p.read())
	}
}

// So does one of a session that a flag had put into plan mode, and settings that name a mode
// for every run do not end it; what is asked for this run does.
func TestPlanOfAFlagOverARestart(t *testing.T) {
	for name, c := range map[string]struct {
		mode  policy.Mode
		usual bool
		want  policy.Mode
		says  string
	}{
		"nothing said":    {"", false, policy.ModeDefault, "The user approved the plan"},
		"settings":        {policy.ModeAcceptEdits, true, policy.ModeDefault, "The user approved the plan"},
		"asked this time": {policy.ModeAcceptEdits, false, policy.ModeAcceptEdits, "plan mode is not active"},
	} {
		p := newPlanner(t, nil, "", nil, done)
		if _, err := p.a.Change(t.Context(), policy.Change{Mode: policy.ModeAcceptEdits}); err != nil { // on record from an earlier run
			t.Fatal(err)
		}
		p.run()
		p.a.Close()
		p = newPlanner(t, p, policy.ModePlan, func(approval.Request) (approval.Answer, error) { return approval.Answer{}, approval.ErrSuspend }, done, exit)
		if _, err := p.a.Prompt(t.Context(), "go"); err == nil {
			t.Fatal("nobody was asked")
		}
		p.a.Close()
		open, err := approval.Pending(t.Context(), p.sessions, "s")
		if err == nil && len(open) == 1 {
			_, err = approval.Resolve(t.Context(), p.sessions, "s", approval.Answer{RequestID: open[0].ID, Decision: approval.Allow, Actor: "ann"})
		}
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		p.usual = c.usual
		p = newPlanner(t, p, c.mode, nil, done, exit, write, done)
		if _, err := p.a.Prompt(t.Context(), ""); err != nil && !strings.Contains(err.Error(), "nothing") {
			t.Fatal(err)
		}
		if p.a.Mode() != c.want || !strings.Contains(p.read(), c.says) || p.wrote != 1 {
			t.Errorf("%s: mode %s, wrote %d times\n%s", name, p.a.Mode(), p.wrote, p.read())
		}
	}
}

// A person may change the plan before he agrees.
func TestPlanIsChangedByThePerson(t *testing.T) {
	p := newPlanner(t, nil, policy.ModePlan, func(approval.Request) (approval.Answer, error) {
		return approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"plan":"only 1","mode":"acceptEdits"}`)}, nil
	}, exit, done)
	if read := p.run(); !strings.Contains(read, "The user changed the plan. It is now:\nonly 1") || p.a.Mode() != policy.ModeAcceptEdits {
		t.Error(read)
	}
}

func ExampleNew() {
	mode := policy.ModeDefault
	tools, err := plan.New(plan.Options{
		Mode:   func() policy.Mode { return mode },
		Change: func(_ context.Context, m policy.Mode) error { mode = m; return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := tools[0].Run(context.Background(), &tool.Call{Input: json.RawMessage(`{}`)})
	fmt.Println(res.Content[0].(transcript.Text).Text, mode, err)
	// Output: Plan mode is active. plan <nil>
}
