package agentdef_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/agentdef"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

const reviewer = `---
name: reviewer
description: Reviews changes.
tools: Read, Grep, Glob
disallowedTools: [Bash]
model: haiku
permissionMode: plan
maxTurns: 20
background: true
isolation: worktree
skills: commit, review
color: cyan
---
You review changes.
`

func TestParse(t *testing.T) {
	d, problems, ok := agentdef.Parse("reviewer.md", []byte(reviewer))
	want := agent.Definition{
		Name: "reviewer", Description: "Reviews changes.", Prompt: "You review changes.", Tools: []string{"Read", "Grep", "Glob"},
		DisallowedTools: []string{"Bash"}, Model: "haiku", Mode: "plan", MaxTurns: 20, Background: true, Origin: "reviewer.md",
		Isolation: true, Skills: []string{"commit", "review"},
	}
	if !ok || len(problems) != 0 || !reflect.DeepEqual(d, want) {
		t.Errorf("%+v\n%+v %v %v", d, want, problems, ok)
	}
}

func TestDescription(t *testing.T) {
	for _, tt := range []struct {
		front, want string // want "": no problem
		used        bool
	}{
		{"description: d", "", true}, // named by its file
		{"description: d\ntools:", "", true},
		{"description: d\ntools: []", "", true},
		{"description: d\ntools: '*'", "", true},
		{"description: d\ntools: Read, Agent(worker)", "4:8: tools: Agent(worker) is ignored: sub-agents cannot start sub-agents", true},
		{"description: d\nskills: [a, b]", "", true},
		{"description: d\nskills: 5", "skills must be a list, not", false},
		{"description: d\nskills: [[a]]", "is not a name", false},
		{"description: d\nmemory: user", "", true},
		{"description: d\nmemory: team", "x.md:4:9: memory: invalid value \"team\"", false},
		{"description: d\nmemory: true", "memory: invalid value", false},
		{"description: d\neffort: high", "x.md:4:1: effort is ignored", true},
		{"description: d\nmcpServers: [git, {own: {command: c}}]", "", true},
		{"description: d\nmcpServers: [git]\ntools: Read, mcp__git__push", "", true},
		{"description: d\nmcpServers: [git]\ntools: mcp__git__*", "", true},
		{"description: d\nmcpServers: [git]\ntools: Read, mcp__github", `its tools include none of the MCP server "git"`, true},
		{"description: d\nmcpServers: git", "mcpServers must be a list", false},
		{"description: d\nmcpServers: {git: {command: c}}", "mcpServers must be a list", false},
		{"description: d\nmcpServers: [5]", "x.md:4:14: mcpServers: 5 is not a server", false},
		{"description: d\nmcpServers: [git, {git: {command: c}}]", `x.md:4:20: mcpServers: duplicate server "git"`, false},
		{"description: d\nmcpServers: [{own: {command: c, trust: true}}]", "x.md:4:40: mcpServers.own.trust is ignored", true},
		{"description: d\nfavourite: blue", `x.md:4:1: unknown field "favourite" is ignored`, true},
		{"name: a", "no description", false},
		{"name: a(b\ndescription: d", "cannot be used in a rule", false},
		{"description: [d]", "description must be a text, not a list", false},
		{"description: d\ntools: Bash(git *), Read", "", true},
		{"description: d\ndisallowedTools: Bash(rm *)", "disallowedTools: Bash(rm *): a definition cannot restrict", false},
		{"description: d\ntools: 5", "tools must be a list of tools", false},
		{"description: d\ndisallowedTools: '*'", "would remove all tools", false},
		{"description: d\npermissionMode: wild", "permissionMode", false},
		{"description: d\nmaxTurns: 0", "maxTurns: invalid value 0", false},
		{"description: d\nmaxTurns: many", "maxTurns", false},
		{"description: d\nbackground: yes please", "background", false},
		{"description: d\nhooks: {PreToolUse: []}", "x.md:4:1: hooks is not supported in a definition", false},
		{"description: d\nisolation: worktree", "", true},
		{"description: d\nisolation: container", "isolation: invalid value \"container\"; the only value is worktree", false},
		{"description: d\nisolation: true", "the only value is worktree", false},
		{"description: d\ndescription: e", "x.md:4", false},
		{"description: 'd", "x.md:", false},
	} {
		d, problems, used := agentdef.Parse("x.md", []byte("---\nname: x\n"+tt.front+"\n---\ngo\n"))
		if strings.HasPrefix(tt.front, "name:") {
			d, problems, used = agentdef.Parse("x.md", []byte("---\n"+tt.front+"\n---\ngo\n"))
		}
		reported := fmt.Sprint(problems)
		if used != tt.used || (tt.want == "") != (len(problems) == 0) || !strings.Contains(reported, tt.want) {
			t.Errorf("%q: used %v, got %s; want %q", tt.front, used, reported, tt.want)
		}
		if used && d.Name != "x" {
			t.Errorf("%q: name %q", tt.front, d.Name)
		}
	}
	for text, want := range map[string]string{
		"just text": "no front matter", "---\ndescription: d\n---\n": "no prompt", "---\nname: a\n": "does not end", "\xff": "UTF-8",
		strings.Repeat("x", 300<<10): "larger than 256 KiB",
	} {
		if _, problems, ok := agentdef.Parse("x.md", []byte(text)); ok || !strings.Contains(fmt.Sprint(problems), want) {
			t.Errorf("%.20q: %v", text, problems)
		}
	}
}

// Rules in the list of tools restrict those tools, unless a tool is also named without a rule.
func TestNarrowedTools(t *testing.T) {
	for tools, want := range map[string]string{
		"Read, Bash(git diff:*), Bash(git log:*)": "[Read Bash Bash] [Bash(git diff:*) Bash(git log:*)]",
		"Bash, Bash(git diff:*)":                  "[Bash Bash] []",
		"'*, Bash(git diff:*)'":                   "[] []",
	} {
		d, problems, ok := agentdef.Parse("x.md", []byte("---\ndescription: d\ntools: "+tools+"\n---\ngo"))
		if got := fmt.Sprint(d.Tools, " ", d.ToolRules); !ok || got != want {
			t.Errorf("%s: %s %v", tools, got, problems)
		}
	}
}

func TestNoToolsAndAllTools(t *testing.T) {
	none, _, _ := agentdef.Parse("x.md", []byte("---\ndescription: d\ntools: []\n---\ngo"))
	all, _, _ := agentdef.Parse("x.md", []byte("---\ndescription: d\n---\ngo"))
	star, _, _ := agentdef.Parse("x.md", []byte("---\ndescription: d\ntools: ['*']\n---\ngo"))
	if none.Tools == nil || len(none.Tools) != 0 || all.Tools != nil || star.Tools != nil {
		t.Errorf("%v %v %v", none.Tools, all.Tools, star.Tools)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func definition(prompt string) string { return "---\ndescription: d\n---\n" + prompt }

func TestLoad(t *testing.T) {
	project, home, user := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, project, ".claude/agents/a.md", definition("claude's"))
	write(t, project, ".holdfast/agents/a.md", definition("ours"))
	write(t, project, ".claude/agents/deep/er/b.md", definition("deep"))
	write(t, project, ".claude/agents/README.md", "not a definition")
	write(t, project, ".claude/agents/bad.md", "nothing")
	write(t, home, "agents/a.md", definition("home's"))
	write(t, home, "agents/c.md", definition("home's"))
	write(t, user, ".claude/agents/c.md", definition("user's"))
	write(t, user, ".claude/agents/d.md", definition("user's"))
	o := agentdef.Options{
		Project: project, Trusted: true, Home: home, User: user,
		JSON: `{"d": {"description": "x", "prompt": "flag's"}, "e": {"description": "x"}}`,
	}
	show := func(s *agentdef.Set) string {
		var all []string
		for _, d := range s.Definitions {
			all = append(all, d.Name+"="+d.Prompt)
		}
		return strings.Join(all, " ")
	}
	s := agentdef.Load(&o)
	if got := show(s); got != "a=ours b=deep c=home's d=flag's" {
		t.Errorf("%s", got)
	}
	if reported := fmt.Sprint(s.Problems); len(s.Problems) != 2 || !strings.Contains(reported, "bad.md:1:1: no front matter") || !strings.Contains(reported, "--agents:1:49: no prompt") {
		t.Errorf("%s", reported)
	}
	o.Trusted = false
	s = agentdef.Load(&o)
	if got := show(s); got != "a=home's c=home's d=flag's" || len(s.Problems) != 3 || !strings.Contains(fmt.Sprint(s.Problems), "the folder is not trusted") {
		t.Errorf("%s %v", got, s.Problems)
	}
	o.JSON = "[]"
	if s = agentdef.Load(&o); !strings.Contains(fmt.Sprint(s.Problems), "must be an object of definitions by name, not a list") {
		t.Errorf("%v", s.Problems)
	}
}

// The definitions of a plugin have the plugin's name before theirs. Those of a project's plugin need
// trust, as the project's own.
func TestLoadFromPlugins(t *testing.T) {
	project, user := t.TempDir(), t.TempDir()
	write(t, project, "kit/agents/a.md", definition("in ${CLAUDE_PLUGIN_ROOT}"))
	write(t, user, "tool/who/b.md", definition("b"))
	write(t, user, "tool/who/c.md", definition("not named"))
	kit, tool := filepath.Join(project, "kit"), filepath.Join(user, "tool")
	o := agentdef.Options{Project: project, Trusted: true, Plugins: []settings.Plugin{
		{Plugin: plugin.Plugin{Name: "kit", Root: kit, Agents: []plugin.Folder{{Dir: filepath.Join(kit, "agents")}}}, Origin: policy.Origin{Layer: layernames.Project}},
		{Plugin: plugin.Plugin{Name: "tool", Root: tool, Agents: []plugin.Folder{{Dir: filepath.Join(tool, "who"), Only: "b.md"}}}, Origin: policy.Origin{Layer: layernames.User}},
	}}
	s := agentdef.Load(&o)
	if d := s.Definitions; len(d) != 2 || d[0].Name != "kit:a" || d[0].Prompt != "in "+kit || d[1].Name != "tool:b" || len(s.Problems) != 0 {
		t.Errorf("%+v %v", d, s.Problems)
	}
	o.Trusted = false
	s = agentdef.Load(&o)
	if d := s.Definitions; len(d) != 1 || d[0].Name != "tool:b" || len(s.Problems) != 1 || !strings.HasSuffix(s.Problems[0].Hint, "holdfast trust "+project) {
		t.Errorf("%+v %v", d, s.Problems)
	}
}

func TestLinksNotFollowed(t *testing.T) {
	project, outside := t.TempDir(), t.TempDir()
	write(t, outside, "a.md", definition("outside"))
	write(t, project, ".claude/agents/b.md", definition("inside"))
	if err := os.Symlink(filepath.Join(outside, "a.md"), filepath.Join(project, ".claude/agents/a.md")); err != nil {
		t.Skip("no links here: ", err)
	}
	s := agentdef.Load(&agentdef.Options{Project: project, Trusted: true})
	if len(s.Definitions) != 1 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Detail, "cannot be read") {
		t.Errorf("%+v %v", s.Definitions, s.Problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(reviewer))
	f.Add([]byte("---\ntools: a(b,c),d\n---\n"))
	f.Add([]byte("---\ndescription: d\nmemory: user\nmcpServers:\n  - a\n  - b: {command: c, args: [x], env: {A: 1}}\n  - c:\n---\ngo"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, problems, ok := agentdef.Parse("x.md", b)
		if ok && (d.Name == "" || d.Description == "" || d.Prompt == "") {
			t.Errorf("%+v is used", d)
		}
		if !ok && len(problems) == 0 {
			t.Error("the definition is not used, without a problem")
		}
	})
}

func ExampleLoad() {
	s := agentdef.Load(&agentdef.Options{JSON: `{"reviewer": {"description": "Reviews changes.", "prompt": "You review.", "tools": ["Read"], "hooks": {}}}`})
	for _, p := range s.Problems {
		fmt.Println(p)
	}
	s = agentdef.Load(&agentdef.Options{JSON: `{"reviewer": {"description": "Reviews changes.", "prompt": "You review.", "tools": ["Read"]}}`})
	for _, d := range s.Definitions {
		fmt.Println(d.Name, d.Tools)
	}
	// Output:
	// --agents:1:94: hooks is not supported in a definition, so the definition is not used
	// reviewer [Read]
}

// The servers of the definition that applies are returned, with the definition's name.
func TestServersOfDefinitions(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	own := func(command string) string {
		return "---\ndescription: d\nmcpServers:\n  - run\n  - own:\n      command: " + command + "\n      args: [-x]\n  - bad: {comand: c}\n---\ngo"
	}
	write(t, project, ".claude/agents/a.md", own("project"))
	write(t, home, "agents/a.md", own("weaker"))
	write(t, home, "agents/b.md", own("user"))
	s := agentdef.Load(&agentdef.Options{Project: project, Trusted: true, Home: home, JSON: `{"c": {"description": "d", "prompt": "p", "mcpServers": [{"own": {"type": "http", "url": "https://h.example/"}}]}}`})
	var got []string
	for _, srv := range s.Servers {
		what := srv.Command + srv.URL
		if srv.Status == settings.MCPInvalid {
			what = srv.Reason
		}
		got = append(got, fmt.Sprint(srv.Key(), " ", srv.Origin.Layer, " ", srv.Origin.Line, " ", srv.Folder == project, " ", what))
	}
	bad := func(file string) string {
		return file + `:8:11: unknown key "mcpServers.bad.comand"; did you mean command?`
	}
	want := []string{
		"c/own flag 1 true https://h.example/",
		"a/own project 5 true project", "a/bad project 8 true " + bad(filepath.Join(project, ".claude/agents/a.md")),
		"b/own user 5 true user", "b/bad user 8 true " + bad(filepath.Join(home, "agents/b.md")),
	}
	if !slices.Equal(got, want) || len(s.Problems) != 0 {
		t.Errorf("%q, want\n%q %v", got, want, s.Problems)
	}
	if d := s.Definitions[0]; !slices.Equal(d.Servers, []string{"run", "own", "bad"}) {
		t.Errorf("%v", d.Servers)
	}
}
