package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runner is a tool that records the inputs of its runs.
type runner struct {
	probe
	inputs  []string
	resumed []bool
}

// command makes a tool whose calls run the command line in their input.
func command(name string) *runner {
	r := &runner{probe: probe{name: name}}
	r.run = func(_ context.Context, c *tool.Call) (tool.Result, error) {
		r.inputs = append(r.inputs, string(c.Input))
		r.resumed = append(r.resumed, c.Resumed)
		return tool.Text("ran " + string(c.Input)), nil
	}
	return r
}

func (r *runner) Requests(c *tool.Call) ([]policy.Request, error) {
	var in struct {
		Command string `json:"command"`
		Bad     bool   `json:"bad"`
		Again   bool   `json:"override"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Bad {
		return nil, errors.New("Failed to decode input: it is bad")
	}
	return []policy.Request{{Operation: policy.OpCommand, Resource: in.Command, Override: in.Again}}, nil
}

// results returns the tool results, by use.
func results(t testing.TB, a *agent.Agent) map[string]transcript.ToolResult {
	t.Helper()
	out := map[string]transcript.ToolResult{}
	for _, e := range a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				out[r.UseID] = r
			}
		}
	}
	return out
}

func fixedVerdict(v policy.Verdict) policy.CanUseTool {
	return func(context.Context, policy.Request) (policy.Verdict, error) { return v, nil }
}

const push = `{"command":"git push"}`

func TestDenialTexts(t *testing.T) {
	deny := func(v policy.Verdict) policy.Config {
		v.Effect = policy.Deny
		return policy.Config{Mode: policy.ModeBypass, CanUseTool: fixedVerdict(v)}
	}
	for _, c := range []struct {
		name  string
		input string
		p     policy.Config
		want  string
		by    string
	}{
		{"a deny with a reason", push, deny(policy.Verdict{Reason: "not on Fridays"}), "permission denied: not on Fridays", "canUseTool"},
		{"a bare deny", push, deny(policy.Verdict{}), `Permission denied for tool "Bash"`, "canUseTool"},
		{"no approver", push, policy.Config{}, `Permission required for tool "Bash"`, "nobody"},
		{"callback asks, no approver", push, policy.Config{CanUseTool: fixedVerdict(policy.Verdict{Effect: policy.Ask, Reason: "are you sure"})}, `Permission required for tool "Bash" (are you sure), and no one can answer`, "nobody"},
		{"invalid input", `{"bad":true}`, policy.Config{Mode: policy.ModeBypass}, "Failed to decode input: it is bad", ""},
		{"dontAsk mode", push, policy.Config{Mode: policy.ModeDontAsk}, "permission denied: ", "mode dontAsk"},
		{"a callback that panics", push, policy.Config{Mode: policy.ModeBypass, CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) { panic("bang") }}, "bang", "canUseTool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bash := command("Bash")
			m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", c.input)}}, step{text: "ok"})
			a := newAgent(t, m, agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: c.p}})
			if c.p.Mode == "" { // newAgent has another default
				var err error
				c.p.Mode = policy.ModeDefault
				if a, err = agent.New(m, options(agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: c.p}})); err != nil {
					t.Fatal(err)
				}
			}
			res := prompt(t, a, "go")
			got := results(t, a)["c1"]
			if !got.IsError || !strings.Contains(got.Text(), c.want) || len(bash.inputs) != 0 {
				t.Errorf("got %q, want %q; ran %v", got.Text(), c.want, bash.inputs)
			}
			var by []string
			for _, d := range res.Denials {
				by = append(by, d.By)
			}
			if strings.Join(by, " ") != c.by {
				t.Errorf("denied by %v, want %q", by, c.by)
			}
		})
	}
}

func TestCallbackReplacesInput(t *testing.T) {
	bash := command("Bash")
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", `{"command":"rm x"}`)}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: policy.Config{
		CanUseTool: fixedVerdict(policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(`{"command":"echo safe"}`)}),
	}}})
	var started, decided string
	for _, e := range events(t, a, "go") {
		switch e := e.(type) {
		case event.ToolStarted:
			started = string(e.Input)
		case event.DecisionMade:
			decided = string(e.Decision.Input)
		}
	}
	const safe = `{"command":"echo safe"}`
	if len(bash.inputs) != 1 || bash.inputs[0] != safe || started != safe || decided != safe {
		t.Errorf("ran %v, got %s, recorded %s", bash.inputs, started, decided)
	}
	if u := a.Snapshot().Items[1].Uses(); string(u[0].Input) != `{"command":"rm x"}` {
		t.Errorf("the transcript holds %s", u[0].Input)
	}
}

func TestPolicyStopEndsTurn(t *testing.T) {
	for _, uses := range [][]transcript.ToolUse{
		{use("c1", "Bash", push)},
		{use("c1", "Bash", push), use("c2", "Bash", push)},
		{use("c0", "Look", `{}`), use("c1", "Bash", push)}, // the last call of a round in which another one ran
	} {
		look := probe{name: "Look", readOnly: true, run: hasContent("Look", "seen").run}
		m := play(t, step{uses: uses}, step{text: "never"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, command("Bash"), look), Permissions: agent.Permissions{Config: policy.Config{
			CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
				if r.Tool == "Look" {
					return policy.Verdict{}, nil
				}
				return policy.Verdict{Effect: policy.Deny, Stop: true}, nil
			},
		}}})
		if res := prompt(t, a, "go"); res.Reason != event.ReasonInterrupted || len(m.asked) != 1 {
			t.Errorf("%d uses: ended by %s after %d requests", len(uses), res.Reason, len(m.asked))
		}
		if err := transcript.Validate(a.Snapshot().Items); err != nil {
			t.Error(err)
		}
	}
}

func TestRequestFields(t *testing.T) {
	var seen []policy.Request
	silent := probe{name: "Todo", run: hasContent("Todo", "x").run}
	p := policy.Config{Mode: policy.ModeBypass, Folders: []string{"/w"}, CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
		seen = append(seen, r)
		return policy.Verdict{}, nil
	}}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", push), use("c2", "Todo", `{}`)}}, step{text: "ok"})
	s := sessions(t)
	a := newAgent(t, m, agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, AgentName: "helper", Permissions: agent.Permissions{Config: p},
		Tools: registry(t, command("Bash"), noRequestTool{silent}),
	})
	res := prompt(t, a, "go")
	if len(seen) != 2 || res.Reason != event.ReasonCompleted {
		t.Fatalf("%d requests, %s", len(seen), res.Reason)
	}
	for _, r := range seen {
		if r.Session != "one" || r.Agent != "helper" {
			t.Errorf("session %q, agent %q", r.Session, r.Agent)
		}
	}
	if seen[0].Cwd != "/w" || string(seen[0].Input) != push {
		t.Errorf("the command: %+v", seen[0])
	}
	if seen[1].Resource != "Todo" || seen[1].Operation != "" {
		t.Errorf("a call without requests: %+v", seen[1])
	}
	a.Close()
}

// noRequestTool is a tool whose calls have no requests.
type noRequestTool struct{ probe }

func (noRequestTool) Requests(*tool.Call) ([]policy.Request, error) { return nil, nil }

func TestReadJudgedOnce(t *testing.T) {
	asked := map[string]int{}
	look := probe{name: "Look", readOnly: true, run: hasContent("Look", "seen").run}
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Look", `{"n":1}`), use("b", "Look", `{"n":2}`)}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, look), Permissions: agent.Permissions{Config: policy.Config{
		CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
			asked[string(r.Input)]++
			if string(r.Input) == `{"n":2}` {
				return policy.Verdict{Effect: policy.Deny}, nil
			}
			return policy.Verdict{}, nil
		},
	}}})
	prompt(t, a, "go")
	if d := cmp.Diff(map[string]int{`{"n":1}`: 1, `{"n":2}`: 1}, asked); d != "" {
		t.Error(d)
	}
}

func TestGuardsOrPermissions(t *testing.T) {
	g, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := play(t)
	for name, o := range map[string]agent.Options{
		"both":            {Permissions: agent.Permissions{Guards: g, Config: policy.Config{Mode: policy.ModePlan}}},
		"an unknown mode": {Permissions: agent.Permissions{Config: policy.Config{Mode: "yolo"}}},
		"a relative root": {Permissions: agent.Permissions{Config: policy.Config{Folders: []string{"w"}}}},
	} {
		if _, err := agent.New(m, &o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if a, err := agent.New(m, &agent.Options{Permissions: agent.Permissions{Guards: g}}); err != nil || a.Guards() != g {
		t.Errorf("a host's guards: %v", err)
	}
}

func TestChildGuardsNeverWeaker(t *testing.T) {
	parent := newAgent(t, play(t), agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDontAsk}}})
	g, err := parent.Guards().Child("helper", policy.ModeBypass)
	if err != nil {
		t.Fatal(err)
	}
	bash := command("Bash")
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", push)}}, step{text: "ok"})
	child := newAgent(t, m, agent.Options{Permissions: agent.Permissions{Guards: g}, AgentName: "helper", Tools: registry(t, bash)})
	prompt(t, child, "go")
	if child.Mode() != policy.ModeDontAsk || len(bash.inputs) != 0 {
		t.Errorf("the child is in mode %s and ran %v", child.Mode(), bash.inputs)
	}
	// The end of the child does not end the parent's run.
	if _, err := parent.Change(t.Context(), policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"/secret/**"}}}); err != nil {
		t.Fatal(err)
	}
	before := len(parent.Guards().Guard("Edit").Chain().Links)
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	if after := len(parent.Guards().Guard("Edit").Chain().Links); after != before {
		t.Errorf("the child's end left %d of %d links", after, before)
	}
}

func TestSetCanUseTool(t *testing.T) {
	no := fixedVerdict(policy.Verdict{Effect: policy.Deny, Reason: "no"})
	for _, c := range []struct {
		name   string
		change func(*testing.T, *agent.Agent)
		ran    int
	}{
		{"callback stays", func(*testing.T, *agent.Agent) {}, 0},
		{"callback removed", func(_ *testing.T, a *agent.Agent) { a.SetCanUseTool(nil) }, 1},
		{"replaced", func(_ *testing.T, a *agent.Agent) { a.SetCanUseTool(no) }, 0},
		{"setting the mode removes it", func(t *testing.T, a *agent.Agent) {
			if err := a.SetMode(t.Context(), policy.ModeBypass, "host"); err != nil {
				t.Fatal(err)
			}
		}, 1},
		{"an unknown mode does not remove it", func(t *testing.T, a *agent.Agent) {
			if err := a.SetMode(t.Context(), "yolo", "host"); err == nil {
				t.Error("mode yolo was set")
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bash := command("Bash")
			m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", push)}}, step{text: "ok"})
			a := newAgent(t, m, agent.Options{Tools: registry(t, bash), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass, CanUseTool: no}}})
			c.change(t, a)
			prompt(t, a, "go")
			if len(bash.inputs) != c.ran {
				t.Errorf("ran %d times, want %d", len(bash.inputs), c.ran)
			}
		})
	}
}

func TestChangesDurableAndApplied(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}
	call := step{uses: []transcript.ToolUse{use("c1", "Bash", push)}}
	m := play(t, call, step{text: "1"}, call, step{text: "2"})
	a := newAgent(t, m, o)
	prompt(t, a, "go")

	grant := &policy.Grant{Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "git push"}
	changed, err := a.Change(t.Context(), policy.Change{Grant: grant, By: "ann"})
	if err != nil || changed.Version != 1 || changed.Grant.ID == "" {
		t.Fatalf("%+v, %v", changed, err)
	}
	stale := 0
	if _, err := a.Change(t.Context(), policy.Change{Mode: policy.ModePlan, IfVersion: &stale}); !errors.Is(err, policy.ErrStale) {
		t.Errorf("a stale change: %v", err)
	}
	if _, err := a.Change(t.Context(), policy.Change{Mode: "yolo"}); err == nil {
		t.Error("mode yolo was set")
	}
	var reported []event.PolicyChanged
	for _, e := range events(t, a, "again") {
		if p, ok := e.(event.PolicyChanged); ok {
			reported = append(reported, p)
		}
	}
	if len(reported) != 1 || reported[0].Change.Grant.ID != changed.Grant.ID || reported[0].Change.Version != 1 {
		t.Errorf("got %+v", reported)
	}
	if len(bash.inputs) != 1 {
		t.Errorf("ran %d times", len(bash.inputs))
	}
	if got := payloads(t, s, "one", record.KindPolicyChanged); len(got) != 1 || !strings.Contains(got[0], `"by":"ann"`) {
		t.Errorf("recorded %v", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Change(t.Context(), policy.Change{Mode: policy.ModePlan}); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	// It applies to the next agent of the session.
	if got := payloads(t, s, "one", record.KindPolicyChanged); len(got) != 1 {
		t.Errorf("recorded %v", got)
	}
	b := newAgent(t, play(t, call, step{text: "3"}), o)
	prompt(t, b, "go on")
	if len(bash.inputs) != 1 || len(b.Guards().Grants()) != 1 {
		t.Errorf("ran %d times with %d grants", len(bash.inputs), len(b.Guards().Grants()))
	}
	b.Close()
}

func TestOtherProgramChangeApplies(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	var a *agent.Agent
	share := func(c policy.Change) {
		t.Helper()
		meta, err := s.Get(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		d, err := session.NewDraft(record.KindPolicyChanged, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AppendShared(t.Context(), "one", meta.Head, d); err != nil {
			t.Fatal(err)
		}
	}
	meddle := probe{name: "Meddle", run: func(context.Context, *tool.Call) (tool.Result, error) {
		share(policy.Change{Mode: policy.ModeDontAsk, Version: 1, By: "elsewhere"})
		return tool.Text("done"), nil
	}}
	// The agent finds the rename in an append, not by reading the log.
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", push), use("c2", "Meddle", `{}`), use("c3", "Bash", push)}}, step{text: "ok"})
	a = newAgent(t, m, agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
		Tools: registry(t, bash, meddle), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
	})
	var by []string
	for _, e := range events(t, a, "go") {
		if p, ok := e.(event.PolicyChanged); ok {
			by = append(by, p.Change.By)
		}
	}
	if a.Mode() != policy.ModeDontAsk || len(bash.inputs) != 1 || !slices.Equal(by, []string{"elsewhere"}) {
		t.Errorf("mode %s, ran %v, got %v", a.Mode(), bash.inputs, by)
	}
	share(policy.Change{Patch: &policy.Patch{Mode: "exec", Allow: []string{"**"}}})
	if _, err := a.Prompt(t.Context(), "more"); err == nil {
		m.steps = []step{{uses: []transcript.ToolUse{use("c4", "Bash", push)}}}
		if _, err = a.Prompt(t.Context(), "more"); err == nil || !strings.Contains(err.Error(), "written by another program") {
			t.Errorf("a change that cannot be applied: %v", err)
		}
	}
	a.Close()
}

// payloads returns the payloads of a session's records of a kind.
func payloads(t testing.TB, s *session.Sessions, id string, k session.Kind) (out []string) {
	t.Helper()
	for r, err := range s.Records(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == k {
			out = append(out, string(r.Payload))
		}
	}
	return out
}

// Policy updates that the callback returns with an allow apply from the next call on, are recorded, and
// outlive the callback.
func TestCallbackUpdates(t *testing.T) {
	s := sessions(t)
	bash := command("Bash")
	asked := 0
	o := asking(agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash)})
	o.Permissions.Config.CanUseTool = func(context.Context, policy.Request) (policy.Verdict, error) {
		if asked++; asked > 1 {
			return policy.Verdict{}, nil
		}
		return policy.Verdict{Effect: policy.Allow, Updates: []policy.Update{
			{Rules: []string{"Bash(git push:*)"}, Effect: policy.Allow}, {Rules: []string{"Bash(git push --force:*)"}, Effect: policy.Deny},
			{Rules: []string{"Bash(("}, Effect: policy.Allow},
		}}, nil
	}
	m := play(t, step{uses: []transcript.ToolUse{
		use("c1", "Bash", `{"command":"git push a"}`), use("c2", "Bash", `{"command":"git push b"}`), use("c3", "Bash", `{"command":"git push --force c"}`), use("c4", "Bash", `{"command":"git pull"}`),
	}}, step{text: "done"}, step{uses: []transcript.ToolUse{use("c5", "Bash", `{"command":"git push d"}`)}}, step{text: "done"})
	a := newAgent(t, m, o)
	notices := 0
	for _, e := range events(t, a, "go") {
		if n, ok := e.(event.Notice); ok && strings.Contains(n.Text, "cannot change the policy") {
			notices++
		}
	}
	a.SetCanUseTool(nil)
	prompt(t, a, "again")
	if want := []string{`{"command":"git push a"}`, `{"command":"git push b"}`, `{"command":"git push d"}`}; !slices.Equal(bash.inputs, want) {
		t.Errorf("ran %v, want %v", bash.inputs, want)
	}
	if got := payloads(t, s, "one", record.KindPolicyChanged); len(got) != 2 || notices != 1 {
		t.Errorf("recorded %v, %d notices", got, notices)
	}
}
