package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusPermissions(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "can_use_tool", "gate_order"),
		map[string]func(*testing.T, corpus.Case){
			"can_use_tool": gateCase,
			"gate_order":   gateCase,
			// Limits, including the sandbox, come before the callback: their deny is final.
			"gate_order-003": corpus.Test(`{"input": {"tool":"Bash"}, "expect": ["preToolUse","canUseTool","permissionMode","sandbox","execute","postToolUse"]}`, by(testGateOrder)),
		}, nil)
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "approval"),
		map[string]func(*testing.T, corpus.Case){
			"approval":    approvalCase,
			"ak-appr-005": corpus.Test(`{"given": {"state":"two calls c1,c2 pending"}, "when": ["resolve c2 then c1"], "expect": {"each":"tracked by call id, the unresolved one is surfaced again"}}`, by(testAnswersByID)),
			"ak-appr-009": corpus.Test(`{"given": {"state":"gated tool"}, "when": ["before the approval"], "expect": {"started event":false}}`, by(TestApprovalRequestFields)), // asked before started
		}, nil)
}

// The two cases of a guard about the approver.
func TestCorpusUnanswered(t *testing.T) {
	cases := slices.DeleteFunc(corpus.Area(t, "agentkit-commaagents-parachute.json", "guard"), func(c corpus.Case) bool {
		return c.ID != "cd-guard-008" && c.ID != "cd-guard-009"
	})
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){"guard": unansweredCase}, nil)
}

// unansweredCase checks that an approval request without an answer is denied with a reason.
func unansweredCase(t *testing.T, c corpus.Case) {
	var given struct{ Policy, Handler string }
	var expect struct{ Error string }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &expect)
	bash := command("Bash")
	o := agent.Options{Tools: registry(t, bash)}
	o.Permissions.Config.Policies = []policy.NamedPolicy{{Name: "own", Policy: always(policy.Effect(given.Policy))}}
	if given.Handler != "" {
		o.Permissions.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{}, errors.New(given.Handler)
		}
	}
	a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), o)
	res := prompt(t, a, "go")
	if len(bash.inputs) != 0 || len(res.Denials) != 1 || res.Denials[0].By != "nobody" {
		t.Fatalf("ran %v, %+v", bash.inputs, res.Denials)
	}
	is := map[bool]string{true: "ask-aborted", false: "ask-no-handler"}[strings.HasSuffix(res.Denials[0].Reason, "the approver failed: "+given.Handler)]
	if text := results(t, a)["c1"].Text(); is != expect.Error || !strings.Contains(text, res.Denials[0].Reason) {
		t.Errorf("%s, got %q, want %s", is, text, expect.Error)
	}
}

// always is a policy with a fixed verdict.
type always policy.Effect

func (s always) Evaluate(policy.Request) policy.Verdict {
	return policy.Verdict{Effect: policy.Effect(s)}
}

// gate is one tool call of an agentkit case: the setup, the call and the expected result.
type gate struct {
	*testing.T
	settings struct {
		CanUseTool     json.RawMessage
		PermissionMode string
		Hooks          json.RawMessage
		Sandbox        json.RawMessage
	}
	input struct {
		Tool  string
		Input json.RawMessage
		Op    string
		A, B  string
	}
	expect map[string]json.RawMessage

	called   []policy.Request        // requests to the callback
	hookRuns map[string]int          // number of hook runs, by the hook's word and by event
	shown    map[hook.Event][]string // the inputs that hooks saw
	ran      []string
	started  []string
	result   transcript.ToolResult
	end      *event.Result
	agent    *agent.Agent
}

func gateCase(t *testing.T, c corpus.Case) {
	synctest.Test(t, func(t *testing.T) { // callbacks may hang
		g := &gate{T: t, hookRuns: map[string]int{}, shown: map[hook.Event][]string{}}
		c.Decode(t, c.Settings(), &g.settings)
		c.Decode(t, c.Input(), &g.input)
		c.Decode(t, c.Expect(), &g.expect)
		if g.input.A != "" {
			g.equal()
			return
		}
		g.play(g.input.Op)
		for _, key := range slices.Sorted(maps.Keys(g.expect)) {
			g.compare(key, g.expect[key])
		}
	})
}

// hooks registers the case's hooks, each a word that counts, records or blocks.
func (g *gate) hooks() *hook.Registry {
	g.Helper()
	r := hook.New(nil)
	words := map[string]string{}
	if g.settings.Hooks != nil && json.Unmarshal(g.settings.Hooks, &words) != nil {
		g.Fatalf("hooks %s", g.settings.Hooks)
	}
	if words == nil {
		words = map[string]string{}
	}
	words["preToolUse"] = cmp.Or(words["preToolUse"], "record")
	for name, word := range words {
		event, err := hook.Event(name).Canonical()
		if err != nil {
			g.Fatal(err)
		}
		err = r.HandleFunc(event, "", func(_ context.Context, in hook.Input) (*hook.Output, error) {
			g.hookRuns[word]++
			g.hookRuns[string(event)]++
			g.shown[event] = append(g.shown[event], string(in.Tool.Input))
			return &hook.Output{Block: word == "block"}, nil
		})
		if err != nil {
			g.Fatal(err)
		}
	}
	return r
}

// play makes the call with a real agent.
func (g *gate) play(op string) {
	g.Helper()
	name := g.input.Tool
	if name == "" {
		name = "Bash"
	}
	in := g.input.Input
	if in == nil {
		in = json.RawMessage(`{"command":"make","file_path":"/p/a"}`)
	}
	p := policy.Config{
		Mode: policy.Mode(g.settings.PermissionMode), Folders: []string{"/p"}, CanUseTool: g.callback(g.settings.CanUseTool),
	}
	if g.settings.Sandbox != nil {
		s := &sandbox.Settings{}
		if err := s.Decode(g.settings.Sandbox); err != nil {
			g.Fatal(err)
		}
		checker, err := sandbox.NewChecker(s, &sandbox.Options{Home: "/home/me"})
		if err != nil {
			g.Fatal(err)
		}
		p.Limits = []policy.NamedPolicy{{Name: "sandbox", Policy: checker}}
	}
	var offered []tool.Tool
	if !strings.Contains(string(g.expect["content"]), "Unknown tool") {
		offered = append(offered, gated{g, name})
	}
	m := play(g, step{uses: []transcript.ToolUse{{ID: "c1", Name: name, Input: in}}}, step{text: "ok"})
	a, err := agent.New(m, &agent.Options{Tools: registry(g, offered...), Permissions: agent.Permissions{Config: p}, Hooks: agent.Hooks{Registry: g.hooks()}})
	if err != nil {
		g.Fatal(err)
	}
	g.agent = a
	g.operate(op)
	for _, e := range events(g, a, "go") {
		switch e := e.(type) {
		case event.ToolStarted:
			g.started = append(g.started, string(e.Input))
		case event.Result:
			g.end = &e
		}
	}
	g.result = results(g, a)["c1"]
	if err := a.Close(); err != nil {
		g.Error(err)
	}
}

var operation = regexp.MustCompile(`^(setPermissionMode|setCanUseTool)\((\w*)\)$`)

func (g *gate) operate(op string) {
	g.Helper()
	if op == "" {
		return
	}
	words := operation.FindStringSubmatch(op)
	switch {
	case words == nil:
		g.Fatalf("unknown operation %q", op)
	case words[1] == "setPermissionMode":
		if err := g.agent.SetMode(g.Context(), policy.Mode(words[2]), "host"); err != nil {
			g.Error(err)
		}
	case words[2] == "nil":
		g.agent.SetCanUseTool(nil)
	default:
		g.agent.SetCanUseTool(g.callback(json.RawMessage(`"` + words[2] + `"`)))
	}
}

// callback makes the case's callback: null for none, an object for a verdict, a word for a behavior.
func (g *gate) callback(raw json.RawMessage) policy.CanUseTool {
	g.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var word string
	_ = json.Unmarshal(raw, &word)
	return func(ctx context.Context, r policy.Request) (policy.Verdict, error) {
		g.called = append(g.called, r)
		switch {
		case word == "":
			return g.verdict(raw), nil
		case strings.Contains(word, "never") || strings.Contains(word, "hang"):
			<-ctx.Done()
			return policy.Verdict{Effect: policy.Allow}, nil
		case strings.Contains(word, "throw") || strings.Contains(word, "error") || strings.Contains(word, "fail"):
			return policy.Verdict{Effect: policy.Allow}, errors.New(word)
		case strings.Contains(word, "panic"):
			panic(word)
		case word == "allowWithInput":
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(updated)}, nil
		case slices.Contains([]string{"deny", "ask", "allow"}, word):
			return policy.Verdict{Effect: policy.Effect(word)}, nil
		case word == "nil" || strings.Contains(word, "no opinion"):
			return policy.Verdict{}, nil
		}
		return policy.Verdict{Effect: policy.Allow}, nil // "set"
	}
}

const updated = `{"command":"echo updated"}`

func (g *gate) verdict(raw json.RawMessage) policy.Verdict {
	var said struct {
		Behavior, Message string
		UpdatedInput      json.RawMessage
		Interrupt         bool
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		g.Errorf("callback %s: %v", raw, err)
	}
	return policy.Verdict{Effect: policy.Effect(said.Behavior), Reason: said.Message, Input: said.UpdatedInput, Stop: said.Interrupt}
}

// gated is the tool of the case.
type gated struct {
	g    *gate
	name string
}

func (t gated) Spec() tool.Spec {
	return tool.Spec{Name: t.name, Description: t.name, Input: json.RawMessage(`{"type":"object"}`), ReadOnly: slices.Contains([]string{"Read", "Glob", "Grep"}, t.name)}
}

func (t gated) Requests(c *tool.Call) ([]policy.Request, error) {
	var in struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
	}
	_ = json.Unmarshal(c.Input, &in)
	switch {
	case t.name == "Bash":
		return []policy.Request{{Operation: policy.OpCommand, Resource: in.Command}}, nil
	case t.name == "WebFetch":
		return []policy.Request{{Operation: policy.OpConnect, Resource: "example.org"}}, nil
	case t.Spec().ReadOnly:
		return []policy.Request{{Operation: policy.OpRead, Resource: in.Path, ReadOnly: true}}, nil
	}
	return []policy.Request{{Operation: policy.OpWrite, Resource: in.Path}}, nil
}

func (t gated) Run(_ context.Context, c *tool.Call) (tool.Result, error) {
	t.g.ran = append(t.g.ran, string(c.Input))
	return tool.Text("executed"), nil
}

func (g *gate) compare(key string, raw json.RawMessage) {
	g.Helper()
	var text string
	_ = json.Unmarshal(raw, &text)
	yes := string(raw) == "true"
	executed := len(g.ran) > 0
	switch key {
	case "executed":
		if executed != yes {
			g.Errorf("executed %v, want %v: %q", executed, yes, g.result.Text())
		}
	case "is_error":
		if g.result.IsError != yes {
			g.Errorf("is_error %v: %q", g.result.IsError, g.result.Text())
		}
	case "content", "content_contains":
		if strings.HasPrefix(text, "Error: Unknown tool ") {
			text = "tool not found: " + g.input.Tool // the text of the other corpus (ak-loop-012)
		}
		if !strings.Contains(g.result.Text(), text) {
			g.Errorf("got %q, want %q", g.result.Text(), text)
		}
	case "loop":
		if (g.end.Reason == event.ReasonInterrupted) != (text == "stopped") {
			g.Errorf("the loop ended by %s, want %s", g.end.Reason, text)
		}
	case "tool_input":
		want := map[string]json.RawMessage{"original": g.input.Input, "updated": json.RawMessage(updated)}[text]
		if text == "" {
			want = raw
		}
		g.sameInput(want)
	case "canUseTool":
		if string(raw) == "null" && len(g.called) > 0 {
			g.Errorf("the callback was asked %d times after it was removed", len(g.called))
		}
	case "mode":
		if g.agent.Mode() != policy.Mode(text) {
			g.Errorf("mode %s, want %s", g.agent.Mode(), text)
		}
	case "canUseTool_calls", "callback_calls":
		if string(raw) != strconv.Itoa(len(g.called)) {
			g.Errorf("the callback was asked %d times, want %s", len(g.called), raw)
		}
	case "asks", "asked":
		if got := strings.Contains(g.result.Text(), "no one can answer"); got != yes {
			g.Errorf("approval would be requested: %v, want %v", got, yes)
		}
	case "within": // play has returned
	case "hook_toolInput": // the hook after the call: the input that ran
		g.sameInput(raw)
		if got := g.shown[hook.PostToolUse]; !slices.Equal(got, g.ran) {
			g.Errorf("the hook was shown %v, and %v ran", got, g.ran)
		}
	case "preToolUse_input":
		want := map[string]string{"original": string(g.input.Input), "updated": updated}[text]
		if want == "" {
			want = `{"command":"make","file_path":"/p/a"}`
		}
		if got := g.shown[hook.PreToolUse]; !slices.Equal(got, []string{want}) {
			g.Errorf("the hook was shown %v, want %s", got, want)
		}
	case "hook_calls", "count":
		if string(raw) != strconv.Itoa(g.hookRuns["count"]) {
			g.Errorf("hooks ran %v times, want %s", g.hookRuns, raw)
		}
	case "c1", "c2", "c3":
		want := string(raw)
		if strings.Contains(string(g.settings.Hooks), `"permissionDenied": "`+key+`"`) || strings.Contains(string(g.settings.Hooks), `"permissionDenied":"`+key+`"`) {
			want = "1" // fired here (gate_order-007)
		}
		if want != strconv.Itoa(g.hookRuns[key]) {
			g.Errorf("hook %s ran %d times, want %s", key, g.hookRuns[key], want)
		}
	default:
		g.Errorf("unknown expectation %q: %s", key, raw)
	}
}

func (g *gate) sameInput(want json.RawMessage) {
	g.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, want); err != nil {
		g.Fatal(err)
	}
	if !slices.Equal(g.ran, []string{b.String()}) || !slices.Equal(g.started, g.ran) {
		g.Errorf("ran %v, got %v, want %s", g.ran, g.started, &b)
	}
}

// equal checks that two verdicts of the callback that allow the call have the same effect, apart from
// the input.
func (g *gate) equal() {
	verdict := func(s string) policy.Verdict {
		name, _, _ := strings.Cut(s, "(")
		switch name {
		case "allow":
			return policy.Verdict{Effect: policy.Allow}
		case "allowWithInput":
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(updated)}
		case "deny":
			return policy.Verdict{Effect: policy.Deny, Reason: s}
		}
		return policy.Verdict{}
	}
	if equal := verdict(g.input.A).Effect == verdict(g.input.B).Effect; equal != (string(g.expect["equal"]) == "true") {
		g.Errorf("%s and %s are equal: %v", g.input.A, g.input.B, equal)
	}
}

func testGateOrder(t *testing.T) {
	var order []string
	hooks := hook.New(nil)
	for event, name := range map[hook.Event]string{hook.PreToolUse: "preToolUse", hook.PostToolUse: "postToolUse"} {
		if err := hooks.HandleFunc(event, "", func(context.Context, hook.Input) (*hook.Output, error) {
			order = append(order, name)
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	note := func(name string) policy.NamedPolicy {
		return policy.NamedPolicy{Name: name, Policy: recordingPolicy{name, &order}}
	}
	bash := probe{name: "Bash", run: func(context.Context, *tool.Call) (tool.Result, error) {
		order = append(order, "execute")
		return tool.Text("x"), nil
	}}
	a, err := agent.New(play(t, step{uses: []transcript.ToolUse{use("c1", "Bash", `{}`)}}, step{text: "ok"}), &agent.Options{
		Tools: registry(t, bash), Hooks: agent.Hooks{Registry: hooks},
		Permissions: agent.Permissions{Config: policy.Config{
			Limits: []policy.NamedPolicy{note("sandbox")}, Policies: []policy.NamedPolicy{note("policies")},
			CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) {
				order = append(order, "canUseTool")
				return policy.Verdict{Effect: policy.Allow}, nil
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, a, "go")
	if want := []string{"preToolUse", "sandbox", "canUseTool", "policies", "execute", "postToolUse"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

type recordingPolicy struct {
	name  string
	order *[]string
}

func (n recordingPolicy) Evaluate(policy.Request) policy.Verdict {
	*n.order = append(*n.order, n.name)
	return policy.Verdict{}
}
