package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// Cases are told apart by what they hold, not by their ids. Whether the runtime
// fires an event, and what it does with an output, package agent shows; here it is
// that the event can be heard and that the output arrives.
func TestCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "hook_registry", "shell_hook"),
		map[string]func(*testing.T, corpus.Case){"hook_registry": checkRegistry, "shell_hook": checkShell}, nil)
}

// fields of a case; what a case does not have is nil.
type fields map[string]any

func fieldsOf(t *testing.T, raw json.RawMessage) fields {
	t.Helper()
	var f fields
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f fields) has(key string) bool { _, ok := f[key]; return ok }

func (f fields) text(key string) string { s, _ := f[key].(string); return s }

func (f fields) texts(key string) []string {
	list, _ := f[key].([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// event is the one that a case is about.
func (f fields) event(t *testing.T) Event {
	t.Helper()
	name := cmp.Or(f.text("event"), f.text("execute"), "preToolUse")
	e, _, err := parseEvent(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func checkRegistry(t *testing.T, c corpus.Case) {
	settings, input, expect := fieldsOf(t, c.Settings()), fieldsOf(t, c.Input()), fieldsOf(t, c.Expect())
	switch {
	case expect.has("fired"):
		checkHeard(t, input.event(t))
	case input.has("has"), input.has("config"), settings.has("config"):
		checkConfig(t, c, settings, input)
	case input.has("level"):
		checkLevel(t, input["level"], c.Expect())
	case expect.has("timeout_ms"):
		checkTimeout(t, settings["hooks"].([]any)[0].(map[string]any)["timeout_ms"], expect["timeout_ms"])
	case expect.has("effect"):
		checkEffect(t, settings)
	case expect.has("set"):
		checkFieldsSet(t, input.event(t), expect.texts("set"))
	case expect.has("sessionId"), expect.has("permissionMode"):
		checkInputFields(t, settings, expect)
	case expect.has("crash"):
		registerWhileFiring(t, input)
	case expect.has("events"):
		fireInTurn(t, settings.texts("hooks"), expect.texts("events"))
	default:
		checkFiring(t, c, settings, input, expect)
	}
}

// checkHeard fires an event and wants a function, registered by the Open Agent SDK's name,
// to be told.
func checkHeard(t *testing.T, e Event) {
	info, _ := e.info()
	heard := false
	r := New(nil)
	err := r.Register(Definition{Event: Event(info.Seed), Func: func(_ context.Context, in Input) (*Output, error) {
		heard = in.Event == e
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fire(t.Context(), full(e)); !heard {
		t.Errorf("%s was not heard", e)
	}
}

// checkConfig reads a block of settings on top of what is registered.
func checkConfig(t *testing.T, c corpus.Case, settings, input fields) {
	r := New(&Options{Runner: fixedRunner{}})
	for _, entry := range settings.texts("register") {
		name, says, _ := strings.Cut(entry, ":")
		if err := r.Register(Definition{Event: Event(name), Func: returns(&Output{Message: says})}); err != nil {
			t.Fatal(err)
		}
	}
	block := map[string][]map[string]string{}
	names := settings.texts("config")
	if counts, ok := input["config"].(map[string]any); ok {
		for name := range counts {
			names = append(names, name)
		}
	}
	known := true
	for _, entry := range names {
		name, says, _ := strings.Cut(entry, ":")
		block[name] = append(block[name], map[string]string{"command": cmp.Or(says, "true")})
		_, d, err := parseEvent(name)
		known = known && err == nil && d == dialectSeed
	}
	found, err := (&SettingsBlock{JSON: json.RawMessage(toJSON(t, block))}).Decode()
	if (err == nil) != known { // Claude's names are known here, and have another form
		t.Errorf("%s gives %v", toJSON(t, block), err)
	}
	if err := r.Register(found...); err != nil {
		t.Fatal(err)
	}
	var want any
	c.Decode(t, c.Expect(), &want)
	switch want := want.(type) {
	case bool:
		if e, _, _ := parseEvent(input.text("has")); r.Has(e) != want {
			t.Errorf("has %s: %v", e, !want)
		}
	case map[string]any:
		if want["error"] == true && err == nil {
			t.Error("no error")
		}
		if name, _ := want["has"].(string); name != "" && !r.Has(fields{"event": name}.event(t)) {
			t.Errorf("it does not have %s", name)
		}
	default:
		sameOutputs(t, r.Fire(t.Context(), Input{Event: input.event(t)}), c.Expect())
	}
}

// fixedRunner is a runner whose commands say their own text.
type fixedRunner struct{}

func (fixedRunner) Run(_ context.Context, d *Definition, _ *Input) (RunResult, error) {
	if d.Command == "true" {
		return RunResult{}, nil
	}
	return RunResult{Output: &Output{Message: d.Command}}, nil
}

func checkLevel(t *testing.T, level any, want json.RawMessage) {
	r := New(nil)
	said, _, err := decodeOutput(dialectSeed, PreToolUse, []byte(toJSON(t, fields{"notification": fields{"title": "t", "body": "b", "level": level}})))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := level.(string)
	for _, out := range []*Output{said, {Notification: &UserNotification{Title: "t", Body: "b", Level: text}}} {
		if err := r.HandleFunc(PreToolUse, "", returns(out)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range r.Fire(t.Context(), Input{Event: PreToolUse}).Notifications {
		if toJSON(t, n.Level) != string(want) {
			t.Errorf("%v becomes %q, want %s", level, n.Level, want)
		}
	}
}

// checkTimeout wants the effective time of a hook, in settings and of a function.
func checkTimeout(t *testing.T, given, want any) {
	t.Helper()
	list, err := (&SettingsBlock{JSON: json.RawMessage(toJSON(t, fields{"preToolUse": []fields{{"command": "x", "timeout": given}}}))}).Decode()
	if err != nil {
		t.Fatal(err)
	}
	r := New(&Options{Runner: fixedRunner{}})
	if given == nil {
		list = append(list, Definition{Event: PreToolUse, Func: returns(nil)})
	}
	for _, d := range list {
		e, err := r.newEntry(d)
		if err != nil || float64(e.limit.Milliseconds()) != want {
			t.Errorf("%v becomes %v (%v), want %v ms", given, e.limit, err, want)
		}
	}
}

// effects of output fields: what a case calls them, an output that has the field,
// and what must come of it.
var fieldEffects = map[string]struct {
	json    string
	arrived func(Outcome) bool
}{
	"permissionDecision=allow": {`{"permissionDecision":"allow"}`, func(o Outcome) bool { return o.Permission == "allow" }},
	"permissionDecision=deny":  {`{"permissionDecision":"deny"}`, func(o Outcome) bool { return o.Permission == "deny" }},
	"permissionDecision=ask":   {`{"permissionDecision":"ask"}`, func(o Outcome) bool { return o.Permission == "ask" }},
	"decision=block":           {`{"decision":"block"}`, func(o Outcome) bool { return o.Block != nil }},
	"decision=approve":         {`{"decision":"approve"}`, func(o Outcome) bool { return o.Permission == "allow" }},
	"block":                    {`{"block":true}`, func(o Outcome) bool { return o.Block != nil }},
	"reason":                   {`{"block":true,"reason":"r"}`, func(o Outcome) bool { return o.Block != nil && o.Block.Text == "r" }},
	"permissionUpdate":         {`{"permissionUpdate":{"tool":"Bash","behavior":"deny"}}`, func(o Outcome) bool { return len(o.Updates) == 1 }},
	"systemMessage":            {`{"systemMessage":"s"}`, func(o Outcome) bool { return len(o.Context) == 1 && o.Context[0].Text == "s" }},
	"additionalContext":        {`{"additionalContext":"c"}`, func(o Outcome) bool { return len(o.Context) == 1 && o.Context[0].Text == "c" }},
	"message":                  {`{"message":"m"}`, func(o Outcome) bool { return len(o.Notices) == 1 }},
	"notification":             {`{"notification":{"title":"t","body":"b"}}`, func(o Outcome) bool { return len(o.Notifications) == 1 }},
	"updatedInput":             {`{"updatedInput":{"command":"true"}}`, func(o Outcome) bool { return string(o.Input) == `{"command":"true"}` }},
	"updatedMCPToolOutput":     {`{"updatedMCPToolOutput":"x"}`, func(o Outcome) bool { return string(o.ToolOutput) == `"x"` }},
}

func checkEffect(t *testing.T, settings fields) {
	hooks, _ := settings["hooks"].([]any)
	said, _ := hooks[0].(map[string]any)["output"].(string)
	name, _, _ := strings.Cut(said, "{")
	effect, ok := fieldEffects[strings.ReplaceAll(name, " ", "")]
	if !ok {
		t.Fatalf("nothing is known of the field %q", said)
	}
	e := PreToolUse
	if name == "updatedMCPToolOutput" {
		e = PostToolUse
	}
	out, notices, err := decodeOutput(dialectSeed, e, []byte(effect.json))
	if err != nil || len(notices) > 0 {
		t.Fatal(notices, err)
	}
	r := New(nil)
	if err := r.Register(Definition{Event: e, Dialect: dialectSeed, Func: returns(out)}); err != nil {
		t.Fatal(err)
	}
	if got := r.Fire(t.Context(), full(e)); !effect.arrived(got) {
		t.Errorf("%s: %+v", effect.json, got)
	}
}

// checkFieldsSet wants the fields to be in the JSON of an event.
func checkFieldsSet(t *testing.T, e Event, want []string) {
	got := wireMap(t, full(e), dialectSeed)
	for _, key := range want {
		if _, ok := got[key]; !ok {
			t.Errorf("%s has no %s: %v", e, key, got)
		}
	}
}

// checkInputFields puts fields into an input, and wants to find them in its JSON.
func checkInputFields(t *testing.T, given, want fields) {
	t.Helper()
	e := given.event(t)
	in, err := parseInput(e, []byte(toJSON(t, given)))
	if err != nil {
		t.Fatal(err)
	}
	got := wireMap(t, in, dialectSeed)
	for key, v := range want {
		if d := gocmp.Diff(v, got[key]); d != "" {
			t.Errorf("%s: %s", key, d)
		}
	}
}

func registerWhileFiring(t *testing.T, input fields) {
	count := func(key string) int { n, _ := input[key].(float64); return max(int(n), 1) }
	r := New(nil)
	var all sync.WaitGroup
	for range count("register") {
		all.Go(func() {
			if err := r.HandleFunc(PreToolUse, "", returns(nil)); err != nil {
				t.Error(err)
			}
		})
	}
	for range count("execute") {
		all.Go(func() { r.Fire(t.Context(), Input{Event: PreToolUse}) })
	}
	all.Wait()
	if n := len(r.Hooks()); n != count("register") {
		t.Errorf("%d hooks", n)
	}
}

func fireInTurn(t *testing.T, names, want []string) {
	var got []string
	r := New(nil)
	for _, name := range names {
		err := r.Register(Definition{Event: Event(name), Func: func(context.Context, Input) (*Output, error) {
			got = append(got, name)
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range want {
		r.Fire(t.Context(), Input{Event: fields{"event": name}.event(t)})
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// inputOf is an event with those fields of a case that its JSON can have. A number
// beside them is how large the tool's input is, in bytes.
func inputOf(t *testing.T, e Event, given fields) Input {
	t.Helper()
	known := fields{}
	for _, part := range wirePlans()[dialectSeed][e] {
		if given.has(part.name) {
			known[part.name] = given[part.name]
		}
	}
	for _, v := range given {
		if n, ok := v.(float64); ok {
			known["toolInput"] = fields{"command": strings.Repeat("a", int(n))}
		}
	}
	in, err := parseInput(e, []byte(toJSON(t, known)))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// recordedInputs is what hooks of a case noted down.
type recordedInputs struct {
	sync.Mutex
	order []string
	last  Input
}

func (l *recordedInputs) note(name string, in Input) {
	l.Lock()
	defer l.Unlock()
	l.order, l.last = append(l.order, name), in
}

// hookOf makes the hook that an entry of a case describes.
func hookOf(t *testing.T, e Event, entry any, l *recordedInputs) Definition {
	d := Definition{Event: e, Dialect: dialectSeed}
	said := func(name string, out *Output, err error) function {
		return func(_ context.Context, in Input) (*Output, error) {
			l.note(name, in)
			return out, err
		}
	}
	switch entry := entry.(type) {
	case string:
		name, what, more := strings.Cut(entry, ":")
		switch {
		case name == "sh":
			d.Command = what
		case name == "fn":
			d.Func = said(what, &Output{Message: what}, nil)
		case name == "throw", name == "throws", name == "error":
			d.Func = said(name, nil, errors.New("thrown"))
		case more && what == "nil", name == "capture", name == "count":
			d.Func = said(name, nil, nil)
		case name == "block":
			d.Func = said(name, &Output{Block: true}, nil)
		default:
			d.Func = said(name, &Output{Message: name}, nil)
		}
	case map[string]any:
		f := fields(entry)
		var out Output
		out.Message, out.Block, d.Matcher = f.text("message"), f["block"] == true, f.text("matcher")
		if ms, ok := f["timeout_ms"].(float64); ok {
			d.Timeout = time.Duration(ms) * time.Millisecond
		}
		switch {
		case len(entry) == 0:
		case f.has("sleep_ms"):
			d.Func = func(ctx context.Context, _ Input) (*Output, error) {
				<-ctx.Done() // its time is shorter than its sleep
				return &Output{Message: "late"}, nil
			}
		case f["throws"] == true, f["error"] != nil:
			d.Func = said("", nil, errors.New("thrown"))
		default:
			d.Func = said(out.Message, &out, nil)
		}
	default:
		t.Fatalf("what is the hook %v?", entry)
	}
	return d
}

func checkFiring(t *testing.T, c corpus.Case, settings, input, expect fields) {
	e := input.event(t)
	r := New(&Options{Runner: fixedRunner{}})
	l := &recordedInputs{}
	hooks, _ := settings["hooks"].([]any)
	refused := false
	for _, entry := range hooks {
		if err := r.Register(hookOf(t, e, entry, l)); err != nil {
			t.Logf("%v: %v", entry, err) // what is expected says whether that is right
			refused = true
		}
	}
	tools := append(input.texts("tools"), input.text("tool"))
	if input.has("tools") {
		tools = tools[:len(tools)-1]
	}
	var out Outcome
	for _, tool := range tools {
		in := inputOf(t, e, input)
		in.Tool.Name = cmp.Or(tool, in.Tool.Name)
		out = r.Fire(t.Context(), in)
	}
	for key, want := range expect {
		switch key {
		case "called", "count":
			n, counted := want.(float64)
			if calls := len(l.order); counted && key == "called" && calls != int(n) || !counted && (calls > 0) != want {
				t.Errorf("called %d times, want %v", calls, want)
			} else if key == "count" && !slices.Contains(l.order, "count") {
				t.Errorf("called were %v", l.order)
			}
		case "order":
			if d := gocmp.Diff(expect.texts("order"), l.order); d != "" {
				t.Error(d)
			}
		case "results":
			sameOutputs(t, out, json.RawMessage(toJSON(t, want)))
		case "executed":
			if (out.Block == nil) != want {
				t.Errorf("%+v; executed is to be %v", out, want)
			}
		case "content":
			text := "Tool execution blocked by hook" // package agent's words where the hook has none
			if out.Block == nil {
				t.Fatalf("%+v", out)
			}
			if got := "Error: " + cmp.Or(out.Block.Text, text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case "event", "toolName", "toolInput", "toolUseId", "sessionId", "cwd", "permissionMode":
			if d := gocmp.Diff(want, wireMap(t, l.last, dialectSeed)[key]); d != "" {
				t.Errorf("%s: %s", key, d)
			}
		case "error":
			if refused != want {
				t.Errorf("refused is %v, want %v", refused, want)
			}
		default:
			t.Errorf("%s: nothing is known about %q", c.ID, key)
		}
	}
	if expect == nil {
		sameOutputs(t, out, c.Expect())
	}
}

// sameOutputs compares what hooks said with a list of messages or outputs.
func sameOutputs(t *testing.T, out Outcome, want json.RawMessage) {
	t.Helper()
	var list []any
	if err := json.Unmarshal(want, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != len(out.Outputs) {
		t.Fatalf("%d outputs: %+v, want %s", len(out.Outputs), out, want)
	}
	for i, w := range list {
		o := out.Outputs[i]
		switch w := w.(type) {
		case string:
			if o.Message != w {
				t.Errorf("output %d says %q, want %q", i, o.Message, w)
			}
		case map[string]any:
			if message, _ := w["message"].(string); o.Message != message || o.Block != (w["block"] == true) {
				t.Errorf("output %d is %+v, want %v", i, o, w)
			}
		}
	}
}
