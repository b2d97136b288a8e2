package runspec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/runspec"
)

func Example() {
	var spec runspec.Spec
	err := spec.Parse([]byte(`{"model": "ollama/qwen3", "cwd": "/srv/shop", "prompt": "fix the tests", "permissions": {"mode": "acceptEdits"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(spec.Check(), spec.Permissions.Mode)
	spec.Session.Fork = true
	fmt.Println(spec.Check())
	// Output:
	// <nil> acceptEdits
	// session.fork: needs a session
}

func TestParseIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"modle": "x"}`:               "modle",
		`{"model": "a", "model": "b"}`: "model",
		`{"model": 1}`:                 "model: is a number",
		`{} {}`:                        "",
		`[]`:                           "",
		`{"sandbox": {"on": true}}`:    "on",
	} {
		err := new(runspec.Spec).Parse([]byte(text))
		if e, ok := errors.AsType[*runspec.Error](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for field, s := range map[string]runspec.Spec{
		"cwd":                     {Cwd: "shop"},
		"add_dirs":                {AddDirs: []string{"/srv", "lib"}},
		"model":                   {Model: "scripted/play.txtar"},
		"strategy_path":           {StrategyPath: "/s.json", Strategy: json.RawMessage(`{}`)},
		"worktree.name":           {Worktree: runspec.Worktree{Name: "fix"}},
		"container":               {Container: runspec.Container{Ephemeral: true}},
		"container.agent":         {Workspace: "blog", Container: runspec.Container{Agent: "clippy"}},
		"sandbox.off":             {Workspace: "blog", Sandbox: runspec.Sandbox{Disabled: true}},
		"mcp.configs":             {Workspace: "blog", MCP: runspec.MCP{Configs: []string{"{}"}}},
		"session":                 {Session: runspec.Session{ID: "a", Continue: true}},
		"session.id":              {Session: runspec.Session{ID: "../a"}},
		"session.at":              {Session: runspec.Session{ForkAt: "item"}},
		"session.fork":            {Session: runspec.Session{Fork: true}},
		"session.takeover":        {Session: runspec.Session{Takeover: true}},
		"session.with_grants":     {Session: runspec.Session{ID: "a", WithGrants: true}},
		"session.no_persist":      {Session: runspec.Session{NoPersist: true, Title: "x"}},
		"permissions.mode":        {Permissions: runspec.Permissions{Mode: "yolo"}},
		"permissions.on_ask":      {Permissions: runspec.Permissions{Unattended: "maybe"}},
		"permissions.ask_timeout": {Permissions: runspec.Permissions{AskTimeout: "-1s"}},
		"model_options.effort":    {ModelOptions: runspec.ModelOptions{Effort: "huge"}},
		"hooks.setup":             {Hooks: runspec.Hooks{Setup: "again"}},
		"limits.max_turns":        {Limits: runspec.Limits{MaxTurns: -1}},
		"limits.max_budget_usd":   {Limits: runspec.Limits{MaxBudgetUSD: -2}},
		"compaction.items":        {Compaction: runspec.Compaction{Items: 3}},
		"environment.variables":   {Environment: runspec.Environment{Variables: []string{"KEY=secret"}}},
		"environment.from.KEY":    {Environment: runspec.Environment{References: map[string]string{"KEY": "sk-secret"}}},
	} {
		err := s.Check()
		e, ok := errors.AsType[*runspec.Error](err)
		if !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	good := runspec.Spec{
		Model: "scripted//tmp/play", Cwd: "/srv", Permissions: runspec.Permissions{Settings: []string{"/s.json", `{"a": 1}`}, AskTimeout: "10m"},
		Environment: runspec.Environment{Variables: []string{"KEY"}, References: map[string]string{"KEY": "keyring:holdfast/ann"}},
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

func TestMergeAndForResume(t *testing.T) {
	began := runspec.Spec{
		Model: "a/b", Prompt: "go", Hooks: runspec.Hooks{Disabled: true, Setup: "init"}, Session: runspec.Session{Resume: "x", Fork: true},
		Limits: runspec.Limits{MaxTurns: 3}, Tools: []string{},
	}
	next := began.ForResume("s")
	if next.Prompt != "" || next.Hooks != (runspec.Hooks{Disabled: true}) || next.Session != (runspec.Session{ID: "s"}) || next.Tools == nil {
		t.Errorf("next is %+v", next)
	}
	over := runspec.Spec{Model: "c/d", Limits: runspec.Limits{MaxBudgetUSD: 1}}.Merge(next)
	if over.Model != "c/d" || over.Limits != (runspec.Limits{MaxTurns: 3, MaxBudgetUSD: 1}) || !over.Hooks.Disabled {
		t.Errorf("over is %+v", over)
	}
}

// Every field has a description in the schema, and the schema allows no other field.
func TestSchema(t *testing.T) {
	type node struct {
		Type, Description    string
		Properties           map[string]node
		AdditionalProperties json.RawMessage
	}
	var root node
	if err := json.Unmarshal(runspec.Spec{}.JSONSchema(), &root); err != nil {
		t.Fatal(err)
	}
	var each func(n node, typ reflect.Type, at string)
	each = func(n node, typ reflect.Type, at string) {
		if len(n.Properties) != typ.NumField() || n.AdditionalProperties == nil {
			t.Errorf("%s: %d properties of %d fields, others: %s", at, len(n.Properties), typ.NumField(), n.AdditionalProperties)
		}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p, ok := n.Properties[name]
			if !ok || p.Description == "" || p.Type == "" {
				t.Errorf("%s.%s: %+v", at, name, p)
			}
			if f.Type.Kind() == reflect.Struct {
				each(p, f.Type, at+"."+name)
			}
		}
	}
	each(root, reflect.TypeFor[runspec.Spec](), "spec")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model": "a/b", "tools": [], "environment": {"from": {"K": "env:X"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, two runspec.Spec
		if s.Parse(b) != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Skip() // a parsed text has no invalid raw fields
		}
		if err := two.Parse(again); err != nil || !reflect.DeepEqual(s.Check() == nil, two.Check() == nil) {
			t.Errorf("%s: %v", again, err)
		}
	})
}
