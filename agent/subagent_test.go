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

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// subagentEnv is a parent with sub-agents. Each has its own scripted model.
type subagentEnv struct {
	t        testing.TB
	play     *fake // the parent's model
	sessions *session.Sessions
	subs     *agent.Subagents
	parent   *agent.Agent
}

// newSubagentEnv makes a parent whose model plays steps, with kinds of sub-agents and their models.
func newSubagentEnv(t testing.TB, o agent.Options, steps []step, kinds map[string]*fake, definitions ...agent.Definition) *subagentEnv {
	t.Helper()
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: definitions,
		Model:       func(name string) (model.Model, error) { return kinds[name], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Sessions == nil {
		o.Sessions = session.New(memory.New(), nil)
	}
	var tools []tool.Tool
	if o.Tools != nil {
		tools = o.Tools.Tools()
	}
	o.Tools, o.Subagents = registry(t, append(tools, subs.Tool())...), subs
	m := play(t, steps...)
	return &subagentEnv{t: t, play: m, sessions: o.Sessions, subs: subs, parent: newAgent(t, m, o)}
}

func delegate(id, kind, prompt, more string) transcript.ToolUse {
	return use(id, "Agent", fmt.Sprintf(`{"description":"a task","prompt":%q,"subagent_type":%q%s}`, prompt, kind, more))
}

func kind(name string) agent.Definition {
	return agent.Definition{Name: name, Description: "does " + name, Prompt: "you are " + name, Model: name}
}

func (h *subagentEnv) children() []session.Meta {
	h.t.Helper()
	page, err := h.sessions.List(h.t.Context(), session.Query{Owner: h.parent.SessionID()})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Sessions
}

// resultText returns the text of the result of a use.
func resultText(t testing.TB, a *agent.Agent, id string) (text string, isError bool) {
	t.Helper()
	for _, e := range a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok && r.UseID == id {
				return transcript.Item{Parts: r.Content}.Text(), r.IsError
			}
		}
	}
	t.Fatalf("%s has no result", id)
	return "", false
}

func TestSubagentHasOwnSession(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	hooks := hook.New(nil)
	for _, e := range []hook.Event{hook.SubagentStart, hook.SubagentStop, hook.Stop, hook.SessionStart, hook.PreToolUse} {
		add(t, hooks, e, func(in hook.Input) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(in.Event, " ", in.Agent, " ", in.AgentType, " ", in.End.LastMessage))
		})
	}
	scout := play(t, step{uses: []transcript.ToolUse{use("x1", "look", `{}`)}}, step{text: "found it"})
	h := newSubagentEnv(t, agent.Options{Tools: registry(t, hasContent("look", "a tree")), Hooks: agent.Hooks{Registry: hooks}},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "find it", "")}}, {text: "thanks"}},
		map[string]*fake{"scout": scout}, kind("scout"))
	all := events(t, h.parent, "begin")
	text, isError := resultText(t, h.parent, "c1")
	if isError || !strings.HasPrefix(text, "found it") {
		t.Errorf("the parent reads %q, error %v", text, isError)
	}
	children := h.children()
	if len(children) != 1 || children[0].Title != "a task" || !strings.Contains(text, children[0].ID) {
		t.Fatalf("children %+v, got %q", children, text)
	}
	if got := kinds(t, h.sessions, children[0].ID); !slices.Contains(got, record.KindToolFinished) || !slices.Contains(got, record.KindTurnClosed) {
		t.Errorf("the child's log has %v", got)
	}
	if scout.asked[0].System != "you are scout" {
		t.Errorf("system prompt %q", scout.asked[0].System)
	}
	for _, s := range scout.asked[0].Tools {
		if s.Name == "Agent" {
			t.Error("a sub-agent may start others")
		}
	}
	passed := 0
	for _, e := range all {
		if s, ok := e.(event.SubagentEvent); ok && s.Session == children[0].ID && s.Use == "c1" {
			passed++
		}
	}
	if passed < 5 {
		t.Errorf("%d events of the child were passed on", passed)
	}
	want := []string{
		"SessionStart   ", "PreToolUse   ", "SubagentStart scout scout ", "PreToolUse scout scout ", "SubagentStop scout scout found it", "Stop   thanks",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("hooks heard\n%q, want\n%q", seen, want)
	}
}

// add registers a function for a hook event.
func add(t testing.TB, r *hook.Registry, e hook.Event, hears func(hook.Input)) {
	t.Helper()
	err := r.HandleFunc(e, "", func(_ context.Context, in hook.Input) (*hook.Output, error) {
		hears(in)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSubagentsRunInParallel(t *testing.T) {
	both := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	n := 0
	meet := func(ctx context.Context) {
		mu.Lock()
		if n++; n == 2 {
			once.Do(func() { close(both) })
		}
		mu.Unlock()
		select {
		case <-both:
		case <-ctx.Done():
		}
	}
	h := newSubagentEnv(t, agent.Options{},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", ""), delegate("c2", "b", "go", "")}}, {text: "done"}},
		map[string]*fake{"a": play(t, step{text: "A", during: meet}), "b": play(t, step{text: "B", during: meet})}, kind("a"), kind("b"))
	prompt(t, h.parent, "begin")
	for id, want := range map[string]string{"c1": "A", "c2": "B"} {
		if text, _ := resultText(t, h.parent, id); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", id, text)
		}
	}
}

func TestSubagentNeverWider(t *testing.T) {
	ran := false
	danger := probe{name: "danger", run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text("boom"), nil
	}}
	d := kind("bold")
	d.Mode = policy.ModeBypass
	var asked []approval.Request
	o := agent.Options{Tools: registry(t, danger), Permissions: agent.Permissions{Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
		asked = append(asked, q)
		return approval.Answer{Decision: approval.Deny, Actor: "me"}, nil
	}}}
	o.Permissions.Config.Mode = policy.ModeDefault
	h := newSubagentEnv(t, o, []step{{uses: []transcript.ToolUse{delegate("c1", "bold", "do it", "")}}, {text: "done"}},
		map[string]*fake{"bold": play(t, step{uses: []transcript.ToolUse{use("x1", "danger", `{}`)}}, step{text: "I was not allowed to"})}, d)
	prompt(t, h.parent, "begin")
	if ran || len(asked) != 1 || asked[0].Agent != "bold" {
		t.Errorf("ran %v, asked %+v", ran, asked)
	}
}

// The parent's mutators also rewrite the transcripts of its sub-agents, and its fallback model answers
// for theirs.
func TestSubagentInheritsMutatorsAndFallback(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	look := rewriter(func(c agent.MutatorContext) ([]transcript.Encoded, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range c.Items {
			seen[e.Text()] = true
		}
		return c.Items, nil
	})
	second := play(t, step{text: "from the fallback"})
	second.info.Model = "second"
	heir := kind("heir")
	heir.Model = ""
	h := newSubagentEnv(t, agent.Options{Model: agent.ModelOptions{Fallback: second, Retry: agent.Retry{Max: -1}}, Mutators: []agent.Mutator{look}},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "heir", "look into it", "")}}, failing(model.ErrorOverloaded), {text: "done"}}, nil, heir)
	prompt(t, h.parent, "begin")
	if text, failed := resultText(t, h.parent, "c1"); failed || !strings.Contains(text, "from the fallback") {
		t.Errorf("the sub-agent said %q", text)
	}
	if !seen["begin"] || !seen["look into it"] {
		t.Errorf("the mutator has seen %v", seen)
	}
}

func TestSubagentsSpendParentBudget(t *testing.T) {
	much := &transcript.Usage{Input: 600}
	h := newSubagentEnv(t, agent.Options{Limits: agent.Limits{MaxTotalTokens: 1000}, Tools: registry(t, hasContent("look", "a tree"))},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", "")}, usage: &transcript.Usage{Input: 100}}, {text: "never said"}},
		map[string]*fake{"a": play(t,
			step{uses: []transcript.ToolUse{use("x1", "look", `{}`)}, usage: much},
			step{uses: []transcript.ToolUse{use("x2", "look", `{}`)}, usage: much},
			step{text: "never said"})}, kind("a"))
	res := prompt(t, h.parent, "begin")
	if res.Reason != event.ReasonBudget || res.Usage.Total() != 1300 || res.ByModel["m"].Calls != 3 {
		t.Errorf("%s after %d tokens, %+v", res.Reason, res.Usage.Total(), res.ByModel)
	}
	if text, isError := resultText(t, h.parent, "c1"); !isError || !strings.Contains(text, "budget") {
		t.Errorf("%v %q", isError, text)
	}
}

// A sub-agent makes no more model calls than the run's limit.
func TestSubagentsInheritMaxTurns(t *testing.T) {
	for _, own := range []int{0, 1, 5} {
		d := kind("a")
		d.MaxTurns = own
		look := step{uses: []transcript.ToolUse{use("x", "look", `{}`)}}
		m := play(t, look, look, look, look, look, look)
		h := newSubagentEnv(t, agent.Options{Limits: agent.Limits{MaxTurns: 2}, Tools: registry(t, hasContent("look", "a tree"))},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", "")}}, {text: "I see"}}, map[string]*fake{"a": m}, d)
		prompt(t, h.parent, "begin")
		want := 2
		if own == 1 {
			want = 1
		}
		if text, isError := resultText(t, h.parent, "c1"); !isError || !strings.Contains(text, "max_turns") || len(m.asked) != want {
			t.Errorf("with %d of its own it made %d calls, want %d: %v %q", own, len(m.asked), want, isError, text)
		}
	}
}

func TestInterruptReachesSubagents(t *testing.T) {
	var h *subagentEnv
	h = newSubagentEnv(t, agent.Options{}, []step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", "")}}},
		map[string]*fake{"a": play(t, step{text: "half", during: func(ctx context.Context) { h.parent.Interrupt(); <-ctx.Done() }})}, kind("a"))
	res := prompt(t, h.parent, "begin")
	if res.Reason != event.ReasonInterrupted {
		t.Errorf("ended with %s", res.Reason)
	}
	child := h.children()[0]
	if m, err := h.sessions.Restore(t.Context(), session.RestoreOptions{SessionID: child.ID}); err != nil || len(m.Notices) != 0 {
		t.Errorf("the child's session was left open: %v, %+v", err, m)
	}
	if err := h.parent.Close(); err != nil {
		t.Error(err)
	}
}

func TestResumeBackgroundSubagent(t *testing.T) {
	woken := make(chan struct{}, 1)
	back := &agent.Background{OnNotification: func() { woken <- struct{}{} }}
	let := make(chan struct{})
	a := play(t, step{text: "first", during: func(context.Context) { <-let }}, step{text: "second"})
	h := newSubagentEnv(t, agent.Options{Background: back},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", `,"run_in_background":true`)}}, {text: "meanwhile"}, {text: "I see"}},
		map[string]*fake{"a": a}, kind("a"))
	if res := prompt(t, h.parent, "begin"); res.Text != "meanwhile" {
		t.Fatalf("%+v", res)
	}
	close(let)
	<-woken
	answerQueue(t, h.parent)
	if _, notes := answersOf(h.parent.Snapshot().Items, "c1"); len(notes) != 1 || !strings.Contains(notes[0], "first") {
		t.Errorf("notifications %q", notes)
	}
	child := h.children()[0].ID
	h.play.steps = append(h.play.steps, step{uses: []transcript.ToolUse{delegate("c2", "a", "and then?", `,"resume":"`+child+`"`)}}, step{text: "done"})
	prompt(t, h.parent, "go on")
	if text, isError := resultText(t, h.parent, "c2"); isError || !strings.HasPrefix(text, "second") {
		t.Errorf("%v %q", isError, text)
	}
	if n := len(a.asked[1].Messages); n != 3 || len(h.children()) != 1 {
		t.Errorf("the second request has %d messages, children %d", n, len(h.children()))
	}
	if err := h.parent.Close(); err != nil {
		t.Error(err)
	}
}

// The result of a sub-agent is not lost if its tools fail to close.
func TestSubagentSetupFails(t *testing.T) {
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Tools: func(context.Context, agent.SubagentRequest) (agent.SubagentSetup, error) {
			return agent.SubagentSetup{Tools: registry(t), Close: func() error { return errors.New("the server hangs") }}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "Agent", `{"description":"x","prompt":"go"}`)}}, step{text: "found it"}, step{text: "thanks"})
	a := newAgent(t, m, agent.Options{Sessions: sessions(t), Tools: registry(t, subs.Tool()), Subagents: subs})
	all := events(t, a, "begin")
	if text, isError := resultText(t, a, "c1"); isError || !strings.HasPrefix(text, "found it") {
		t.Errorf("error %v: %q", isError, text)
	}
	if !slices.ContainsFunc(all, func(e event.Event) bool {
		n, is := e.(event.Notice)
		return is && strings.Contains(n.Text, "the server hangs")
	}) {
		t.Error("no notice for the user")
	}
}

// The text of an async hook goes to the agent that made the call.
func TestAsyncHookOfSubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := hook.New(nil)
		err := hooks.Register(hook.Definition{Event: hook.PreToolUse, Name: "late", Async: true, Func: func(_ context.Context, in hook.Input) (*hook.Output, error) {
			return &hook.Output{Context: "about " + in.Tool.UseID}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		waits := func(context.Context) { synctest.Wait() }
		scout := play(t, step{uses: []transcript.ToolUse{use("x1", "look", `{}`)}, during: waits},
			step{uses: []transcript.ToolUse{use("x2", "look", `{}`)}, during: waits}, step{text: "found it", during: waits})
		h := newSubagentEnv(t, agent.Options{Tools: registry(t, hasContent("look", "a tree")), Hooks: agent.Hooks{Registry: hooks}},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "find it", "")}}, {text: "thanks"}},
			map[string]*fake{"scout": scout}, kind("scout"))
		prompt(t, h.parent, "begin")
		if _, notes := answersOf(h.parent.Snapshot().Items, ""); !slices.Equal(notes, []string{"PreToolUse hook: about c1"}) {
			t.Errorf("the parent has heard %q", notes)
		}
		_, notes := answersOf(scout.items(&scout.asked[2]), "")
		if text := strings.Join(notes, "\n"); !strings.Contains(text, "about x1") || strings.Contains(text, "about c1") { // the text about x2 may come later
			t.Errorf("the sub-agent has heard %q", text)
		}
		if err := h.parent.Close(); err != nil {
			t.Error(err)
		}
		ran := 0
		for _, k := range kinds(t, h.sessions, h.children()[0].ID) {
			if k == record.KindHookRan {
				ran++
			}
		}
		if ran != 4 { // each starts and ends
			t.Errorf("%d records of hooks in the sub-agent's log", ran)
		}
	})
}

func TestInvalidDefinitions(t *testing.T) {
	for name, d := range map[string][]agent.Definition{
		"no name":                 {{Description: "x"}},
		"no description":          {{Name: "x"}},
		"duplicate name":          {kind("a"), kind("a")},
		"no such mode":            {{Name: "x", Description: "x", Mode: "wild"}},
		"parenthesis in the name": {{Name: "x)", Description: "x"}},
	} {
		if _, err := agent.NewSubagents(&agent.SubagentOptions{Definitions: d}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	subs, err := agent.NewSubagents(nil)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"description":"x","prompt":"y","subagent_type":"general-purpos"}`: "did you mean general-purpose?",
		`{"description":"x","prompt":" "}`:                                  "prompt must not be empty",
	} {
		if _, err := subs.Tool().Requests(&tool.Call{Input: json.RawMessage(in)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
