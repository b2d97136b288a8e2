package strategy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strategyWith returns a strategy with the agents a, b and c and this flow.
func strategyWith(flow string) string {
	return `{"name":"n","version":"1","agents":{"a":{},"b":{},"c":{}},"flow":` + flow + `}`
}

// agent returns a strategy with one agent, with this definition.
func agent(def string) string {
	return `{"name":"n","version":"1","agents":{"a":` + def + `},"flow":"a"}`
}

func TestInvalid(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		want, hint string // parts of the error and of the hint
	}{
		{"empty", "", "the file is empty", ""},
		{"not an object", "[]", "must be an object, not a list", ""},
		{"a text", `hello`, `must be an object, not "hello"`, ""},
		{"two documents", "name: a\n---\nname: b\n", "2 documents", ""},
		{"comment in JSON", "{\n  // no\n}", "x:2:3: not JSON", "use YAML"},
		{"broken JSON", `{"name":`, "not JSON", ""},
		{"broken YAML", "name: [a\n", "not YAML", ""},
		{"not UTF-8", "name: \xff", "not UTF-8", "UTF-8"},
		{"no name", `{"version":"1","agents":{"a":{}},"flow":"a"}`, "name is missing", "needs name"},
		{"blank name", `{"name":" ","version":"1","agents":{"a":{}},"flow":"a"}`, "name: is empty", ""},
		{"empty name", `{"name":"","version":"1","agents":{"a":{}},"flow":"a"}`, "name: is empty", ""},
		{"name of two lines", `{"name":"a\nb","version":"1","agents":{"a":{}},"flow":"a"}`, "name: must be one line", ""},
		{"no version", `{"name":"n","agents":{"a":{}},"flow":"a"}`, "version is missing", `version: "1"`},
		{"empty version", `{"name":"n","version":"","agents":{"a":{}},"flow":"a"}`, "version: is empty", ""},
		{"no agents", `{"name":"n","version":"1","flow":"a"}`, "agents is missing", ""},
		{"no agent", `{"name":"n","version":"1","agents":{},"flow":"a"}`, "agents: agents is empty", ""},
		{"agents a list", `{"name":"n","version":"1","agents":["a"],"flow":"a"}`, "agents: must be an object, not a list", ""},
		{"no flow", `{"name":"n","version":"1","agents":{"a":{}}}`, "flow is missing", "sequential"},
		{"unknown key", `{"name":"n","version":"1","agent":{"a":{}},"flow":"a"}`, `x:1:27: unknown key "agent"`, "did you mean agents?"},
		{"far key", `{"name":"n","version":"1","colour":1}`, `unknown key "colour"`, "the keys are name, version"},
		{"key twice", `{"name":"n","name":"m"}`, `duplicate key "name"`, "keep one"},
		{"key twice in YAML", "name: n\nversion: 1\nname: m\n", "name", ""},
		{"the seed's MCP servers", `{"name":"n","version":"1","mcpServers":{}}`, "mcpServers: a strategy cannot define MCP servers", ""},
		{"the seed's defaults", `{"name":"n","version":"1","defaults":{}}`, "defaults: not supported", ""},

		{"name of an agent", `{"name":"n","version":"1","agents":{"A":{}},"flow":"A"}`, `agents: invalid agent name "A"`, "a-z"},
		{"long name", `{"name":"n","version":"1","agents":{"` + strings.Repeat("a", 41) + `":{}},"flow":"a"}`, "invalid agent name", ""},
		{"agent a text", agent(`"x"`), `agents.a: must be an object, not "x"`, ""},
		{"unknown type", agent(`{"type":"custom"}`), `agents.a.type: "custom" is not one of user, llm, command`, ""},
		{"type a number", agent(`{"type":5}`), `agents.a.type: must be a text, not 5`, "quotes"},
		{"unknown field", agent(`{"modell":"x/y"}`), `agents.a: unknown key "modell"`, "did you mean model?"},
		{"model without provider", agent(`{"model":"gpt"}`), `agents.a.model: "gpt" does not name`, "anthropic/"},
		{"model without model", agent(`{"model":"openai/"}`), "does not name a provider and a model", ""},
		{"tools a text", agent(`{"tools":"Read"}`), `agents.a.tools: must be a list, not "Read"`, ""},
		{"tool twice", agent(`{"tools":["Read","Read"]}`), `agents.a.tools[1]: duplicate entry "Read"`, ""},
		{"tool a number", agent(`{"tools":[1]}`), "agents.a.tools[0]: must be a text, not 1", ""},
		{"tool blank", agent(`{"tools":[" "]}`), "agents.a.tools[0]: is empty", ""},
		{"steps below 1", agent(`{"maxSteps":0}`), "agents.a.maxSteps: must be a whole number from 1", ""},
		{"steps a fraction", agent(`{"maxSteps":1.5}`), "must be a whole number from 1", ""},
		{"steps a text", agent(`{"maxSteps":"5"}`), `must be a number, not "5"`, ""},
		{"prompt in a file", agent(`{"systemPrompt":"./p.md"}`), "agents.a.systemPrompt: cannot read the prompt: only a strategy that is read from a file", ""},
		{"prompt with NUL", agent(`{"systemPrompt":"a\u0000b"}`), "contains a NUL", ""},
		{"command of a model", agent(`{"command":"ls"}`), "agents.a.command: only agents of type command have this key; this one is llm", "type: command"},
		{"model of a person", agent(`{"type":"user","model":"a/b"}`), "agents.a.model: only agents of type llm", ""},
		{"no command", agent(`{"type":"command"}`), "agents.a: command is missing", ""},
		{"empty command", agent(`{"type":"command","command":""}`), "agents.a.command: is empty", ""},
		{"stdin a text", agent(`{"type":"command","command":"x","stdin":"yes"}`), "stdin: must be true or false", ""},
		{"preset message", agent(`{"type":"user","config":{"presetMessage":"x"}}`), "config.presetMessage: the text of a user agent comes from the user", ""},
		{"no input", agent(`{"type":"user","config":{"requireInput":false}}`), "config.requireInput: a user agent always waits", ""},
		{"config unknown", agent(`{"type":"user","config":{"x":1}}`), `agents.a.config: unknown key "x"`, ""},
		{"templates", agent(`{"systemPromptTemplate":{"template":"{{shell}}"}}`), "agents.a.systemPromptTemplate: templates are not supported", ""},

		{"unused", `{"name":"n","version":"1","agents":{"a":{},"b":{}},"flow":"a"}`, "agents.b: the flow does not use this agent", "remove it"},
		{"unknown agent", strategyWith(`{"sequential":["a","b","d"]}`), `flow.sequential.steps[2]: unknown agent "d"`, "the agents are a, b, c"},
		{"no such agent at all", strategyWith(`["a"]`), "flow: must be the name of an agent or a flow, not a list", ""},
		{"step a number", strategyWith(`{"sequential":[1]}`), "must be the name of an agent or a flow, not 1", ""},
		{"unknown observer", strategyWith(`{"type":"cycle","steps":["a","b","c"],"observer":"zzzzzz"}`), `flow.observer: unknown agent "zzzzzz"`, "the agents are a, b, c"},
		{"no type", strategyWith(`{"steps":["a"]}`), "flow: type is missing", "cycle"},
		{"no type, two keys", strategyWith(`{"steps":["a"],"name":"x"}`), "flow: type is missing", ""},
		{"unknown flow type", strategyWith(`{"type":"parallel","steps":["a"]}`), `flow.type: "parallel" is not one of sequential, cycle, broadcast`, ""},
		{"nearly a flow", strategyWith(`{"cycel":["a"]}`), `unknown key "cycel"`, "did you mean cycle?"},
		{"type twice", strategyWith(`{"cycle":{"type":"cycle","steps":["a"]}}`), "flow.cycle.type: cycle already gives the type of the flow", ""},
		{"no steps", strategyWith(`{"type":"sequential"}`), "flow: steps is missing", ""},
		{"empty steps", strategyWith(`{"type":"sequential","steps":[]}`), "flow.steps: a flow needs at least one step", ""},
		{"steps a text", strategyWith(`{"type":"sequential","steps":"a"}`), "flow.steps: must be a list", ""},
		{"custom flow", strategyWith(`{"type":"sequential","steps":["a"],"config":{}}`), "flow.config: unsupported flow", ""},
		{"empty flow name", strategyWith(`{"type":"sequential","name":"","steps":["a"]}`), "flow.name: is empty", ""},
		{"key of another flow", strategyWith(`{"type":"sequential","steps":["a"],"cycles":2}`), `flow: unknown key "cycles"`, ""},
		{"step with more", strategyWith(`{"sequential":[{"agent":"a","input":"x"}]}`), `unknown key "input"`, ""},
		{"no cycles", strategyWith(`{"type":"cycle","steps":["a"],"cycles":0}`), "flow.cycles: must be a whole number from 1", ""},
		{"fewer cycles", strategyWith(`{"type":"cycle","steps":["a"],"cycles":-1}`), "must be a whole number from 1", ""},
		{"half a cycle", strategyWith(`{"type":"cycle","steps":["a"],"cycles":2.5}`), "must be a whole number from 1", ""},
		{"other infinity", strategyWith(`{"type":"cycle","steps":["a"],"cycles":"infinite"}`), `or "Infinity", not "infinite"`, ""},
		{"endless", strategyWith(`{"type":"cycle","steps":["a"],"cycles":"Infinity"}`), "flow: the cycle could never end", "observer"},
		{"endless inside", strategyWith(`{"sequential":["a","b",{"type":"cycle","steps":["c"],"cycles":"Infinity"}]}`), "flow.sequential.steps[2]: the cycle could never end", ""},
		{"signals without use", strategyWith(`{"type":"cycle","steps":["a"],"breakCycleSignals":["x"]}`), "breakCycleSignals has no effect", ""},
		{"no signals", strategyWith(`{"type":"cycle","steps":["a"],"observer":"b","breakCycleSignals":[]}`), "flow.breakCycleSignals: the list is empty", "omit it"},
		{"empty signal", strategyWith(`{"type":"cycle","steps":["a"],"observer":"b","breakCycleSignals":[""]}`), "flow.breakCycleSignals[0]: is empty", ""},
		{"unknown match", strategyWith(`{"type":"cycle","steps":["a"],"observer":"b","breakCycleSignalMatch":"regex"}`), `"regex" is not one of substring, first-line`, ""},
		{"match of nothing", strategyWith(`{"type":"cycle","steps":["a"],"cycles":2,"breakCycleSignalMatch":"exact"}`), "no signals to match", ""},
		{"signal that can never match", strategyWith(`{"type":"cycle","steps":["a"],"observer":"b","breakCycleSignals":[" x"],"breakCycleSignalMatch":"exact"}`), `" x" can never match with exact`, ""},
		{"agent at the same time", strategyWith(`{"broadcast":["a",{"sequential":["b","a"]},"c"]}`), "agent a is in steps 0 and 1, which run at the same time", "second agent"},
		{"deep", strategyWith(strings.Repeat(`{"sequential":[`, 20) + `"a"` + strings.Repeat(`]}`, 20)), "nested deeper than 16", ""},
		{"many", strategyWith(`{"sequential":[` + strings.Repeat(`"a",`, 600) + `"a"]}`), "more than 500 steps", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("x", []byte(tt.in))
			if err == nil {
				t.Fatalf("read as %s", s.Source)
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, ErrInvalid) {
				t.Fatalf("%T %v is no Error", err, err)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "x:") {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
			if !strings.Contains(e.Hint(), tt.hint) {
				t.Errorf("%s\nhint %q, want %q", err, e.Hint(), tt.hint)
			}
		})
	}
}

func TestUnsupportedKeys(t *testing.T) {
	for key, why := range refusedAgent {
		_, err := Parse("x", []byte(agent(`{"`+key+`":{}}`)))
		if err == nil || !strings.Contains(err.Error(), "agents.a."+key+": "+why) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestPositionsInYAML(t *testing.T) {
	const head = "name: ñ\nversion: 1\nagents:\n  a: {model: x/y}\n"
	for _, tt := range []struct{ in, at string }{
		{head + "flow:\n  cycle:\n    steps: [a]\n    cycles: many\n", "f.yaml:8:13: flow.cycle.cycles:"},
		{head + "flow:\n  - a\n", "f.yaml:6:3: flow:"},
		{head + "flow: ä\n", "f.yaml:5:7: flow:"},
		{head + "flow: a\nmore: 1\n", "f.yaml:6:1: unknown key"},
		{"name: n\nversion: 1\nagents:\n  a: {tools: [é, é]}\nflow: a", "f.yaml:4:18: agents.a.tools[1]:"},
		{"name: n\nversion: 1\nagents:\n  a: {}\nflow: *none", "f.yaml:5:7: unknown anchor"},
		{"name: n\nversion: 1\nagents:\n  a: !!map {}\nflow: a", "f.yaml:4:6: tag !!map: tags are not supported"},
		{"name: n\nversion: 1\n1: 2\n", "f.yaml:3:1: a key must be a text"},
		{"name: n\n<<: [1]\n", "f.yaml:2:1: << takes an object"},
	} {
		_, err := Parse("f.yaml", []byte(tt.in))
		if err == nil || !strings.HasPrefix(err.Error(), tt.at) {
			t.Errorf("%q: %v, want %s", tt.in, err, tt.at)
		}
	}
}

func TestNotations(t *testing.T) {
	const want = `{"name":"n","version":"1.0","agents":{"w":{"type":"llm","model":"x/y","tools":["Read"]},` +
		`"c":{"type":"command","command":"go test ./...","stdin":true},"p":{"type":"user","prompt":"ok?"},` +
		`"o":{"type":"llm","model":"x/y","tools":["Read"],"maxSteps":3}},` +
		`"flow":{"type":"cycle","name":"cycle","steps":[{"agent":"w","name":"write"},` +
		`{"type":"broadcast","name":"look","steps":[{"agent":"c"},{"agent":"p"}],"separator":"\n\n"}],` +
		`"cycles":"Infinity","observer":"o","breakCycleSignals":["end cycle","stop","done"],"breakCycleSignalMatch":"substring"}}`
	for name, in := range map[string]string{
		"x.yaml": `
name: n
version: 1.0
agents:
  w: &model {type: model, model: x/y, tools: [Read]}
  c: {type: command, command: go test ./..., stdin: true}
  p: {type: user, prompt: "ok?"}
  o: {<<: *model, maxSteps: 3}
flow:
  cycle:
    steps:
      - {agent: w, name: write}
      - broadcast: {name: look, steps: [c, p]}
    observer: o
`,
		"x.json": `{"name":"n","version":"1.0","agents":{"w":{"model":"x/y","tools":["Read"]},
"c":{"type":"command","command":"go test ./...","stdin":true},"p":{"type":"user","prompt":"ok?","config":{"requireInput":true}},
"o":{"type":"llm","model":"x/y","tools":["Read"],"maxSteps":3}},
"flow":{"type":"cycle","cycles":"Infinity","observer":"o","steps":[{"agent":"w","name":"write"},
{"type":"broadcast","name":"look","steps":[{"agent":"c"},{"agent":"p"}]}]}}`,
		"x": want,
	} {
		s, err := Parse(name, []byte(in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, string(s.Source)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBillionLaughs(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: n\nversion: 1\na0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		alias := fmt.Sprintf("*a%d, ", i)
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(alias, 8), ", "))
	}
	if _, err := Parse("x.yaml", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "after aliases are expanded") {
		t.Error(err)
	}
	for name, in := range map[string]string{
		"brackets": strings.Repeat("[", 5000), "dashes": strings.Repeat("- ", 4000) + "x",
		"braces": strings.Repeat("{a: ", 500), "long": strings.Repeat("- v\n", 20_000),
		"large": "# " + strings.Repeat("x", maxSize),
	} {
		if _, err := Parse("x.yaml", []byte(in)); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	prompt := func(p string) string {
		return "name: n\nversion: 1\nagents: {a: {systemPrompt: " + p + "}}\nflow: a\n"
	}
	write("in/prompts/a.md", "Write well.\n")
	write("in/empty.md", " \n")
	write("in/chain.md", "prompts/a.md\n")
	write("in/binary.md", "\xff\xfe")
	write("outside.md", "secret")
	if err := os.Symlink("../outside.md", filepath.Join(dir, "in/link.md")); err != nil {
		t.Fatal(err)
	}

	path := write("in/s.yaml", prompt("./prompts/a.md"))
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Agents[0].SystemPrompt != "Write well.\n" || s.Path != path {
		t.Errorf("%+v", s)
	}
	again, err := Parse("", s.Source)
	if err != nil || again.Agents[0].SystemPrompt != "Write well.\n" {
		t.Errorf("the source needs the file: %v", err)
	}
	for _, p := range []string{"../outside.md", "link.md", "empty.md", "chain.md", "binary.md", "none.md", filepath.Join(dir, "outside.md")} {
		_, err := Load(write("in/bad.yaml", prompt(p)))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "agents.a.systemPrompt") {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, p := range []string{filepath.Join(dir, "none.yaml"), filepath.Join(dir, "no/none.yaml"), dir} {
		if _, err := Load(p); err == nil || errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", p, err)
		}
	}
}
