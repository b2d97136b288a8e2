package policycheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/tool"
)

func TestToolCallRequests(t *testing.T) {
	for _, tt := range []struct {
		tool, input string
		op          policy.Operation
		resource    string
		readOnly    bool
		err         string
	}{
		{"", `{}`, "", "", false, "the call names no tool"},
		{"Read", ``, "", "", false, "the input of Read has no file_path"},
		{"Read", `[]`, "", "", false, "not an object"},
		{"Read", `{"file_path": null}`, "", "", false, "null is not a text"},
		{"Read", `{"file_path": ["x"]}`, "", "", false, "is not a text"},
		{"Read", `{"file_path": ""}`, "", "", false, "file_path is empty"},
		{"Read", `{"FILE_PATH": "x"}`, "", "", false, "unknown field; want file_path"},
		{"Read", `{"file_path": "a\u0000b"}`, "", "", false, "NUL"},
		{"Bash", `{"command": "ls", "command": "rm x"}`, "", "", false, "duplicate key"},
		{"Bash", `{"comm`, "", "", false, "not JSON"},
		{"WebFetch", `{"url": "example.org"}`, "", "", false, "want https://"},
		{"WebFetch", `{"url": "http://%zz/"}`, "", "", false, "invalid URL"},

		{"Read", `{"file_path": "a/../b"}`, policy.OpRead, "/w/b", true, ""},
		{"Read", `{"file_path": "~/x"}`, policy.OpRead, "/home/u/x", true, ""},
		{"Write", `{"file_path": "/x//y/", "content": "z"}`, policy.OpWrite, "/x/y", false, ""},
		{"MultiEdit", `{"file_path": "x", "edits": []}`, policy.OpWrite, "/w/x", false, ""},
		{"NotebookEdit", `{"notebook_path": "x"}`, policy.OpWrite, "/w/x", false, ""},
		{"NotebookEdit", `{"file_path": "x"}`, policy.OpWrite, "/w/x", false, ""},
		{"Glob", `{"pattern": "*"}`, policy.OpRead, "/w", true, ""},
		{"Grep", `{"pattern": "x", "path": "sub"}`, policy.OpRead, "/w/sub", true, ""},
		{"Grep", `{"pattern": "x", "path": ""}`, policy.OpRead, "/w", true, ""},
		{"Bash", `{"command": " ls\t; x"}`, policy.OpCommand, " ls\t; x", false, ""},
		{"WebFetch", `{"url": "https://Example.ORG:8080/x?y"}`, policy.OpConnect, "example.org:8080", true, ""},
		{"WebFetch", `{"url": "http://[::1]/"}`, policy.OpConnect, "[::1]:80", true, ""},
		{"EnterWorktree", `{}`, "", "", false, "want 1 to 64"},
		{"EnterWorktree", `{"Name": "a"}`, "", "", false, "unknown field; want name"},
		{"EnterWorktree", `{"name": "a"}`, policy.OpCommand, "git worktree add -b worktree-a .holdfast/worktrees/a", false, ""},
		{"ExitWorktree", `{"action": "go"}`, "", "", false, "want keep or remove"},
		{"ExitWorktree", `{"action": "keep"}`, "", "ExitWorktree", true, ""},
		{"ExitWorktree", `{"action": "remove"}`, "", "ExitWorktree", true, ""}, // in no worktree
		{"WebSearch", `{"query": "go"}`, policy.OpConnect, "api.search.brave.com:443", true, ""},
		{"TaskStop", `{"task_id": "u1"}`, "", "TaskStop", true, ""},
		{"Skill", `{"skill": "commit"}`, "", "commit", true, ""},
		{"ListMcpResources", `{}`, policy.OpMCP, "resources", false, ""},
		{"ReadMcpResource", `{"server": "git"}`, "", "", false, "no server or no uri"},
		{"mcp__git__push__all", `{}`, policy.OpMCP, "git/push__all", false, ""},
		{"mcp__git", ``, "", "mcp__git", false, ""},
		{"TaskList", ``, "", "TaskList", true, ""},
		{"Anything", `{"x": 1}`, "", "Anything", false, ""},
	} {
		c := Call{Tool: tt.tool, Input: json.RawMessage(tt.input), Cwd: "/w", Home: "/home/u"}
		got, err := c.Requests()
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s %s: %v %v, want %q", tt.tool, tt.input, got, err, tt.err)
			}
			continue
		}
		if err != nil || len(got) != 1 {
			t.Errorf("%s %s: %v %v", tt.tool, tt.input, got, err)
			continue
		}
		r := got[0]
		if r.Tool != tt.tool || r.Operation != tt.op || r.Resource != tt.resource || r.ReadOnly != tt.readOnly || string(r.Input) != tt.input {
			t.Errorf("%s %s: %+v", tt.tool, tt.input, r)
		}
		if (r.Operation == policy.OpCommand) != (r.Cwd == "/w") {
			t.Errorf("%s: cwd %q", tt.tool, r.Cwd)
		}
	}
	if _, err := (Call{Tool: "Read", Input: json.RawMessage(`{"file_path": "~/x"}`), Cwd: "/w"}).Requests(); err == nil {
		t.Error("there is no home folder, and ~ was taken")
	}
}

// The table says what the tools themselves say.
func TestToolFieldsMatchTools(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "sub/y"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, "text")
	}
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	inTree := filepath.Join(dir, ".holdfast/worktrees/side")
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".holdfast/worktrees/side/.git": "gitdir: x\n", ".holdfast/skills/commit/SKILL.md": "---\nname: commit\ndescription: d\n---\ngo\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, text)
	}
	e := &env.Env{Vars: []string{"HOME=" + dir, "HOLDFAST_HOME=" + filepath.Join(dir, ".holdfast"), tools.EnvSearchKey + "=key", tools.EnvSearchURL + "=http://localhost:8080/v1"}}
	box, err := tools.DryRun(&tools.Options{Env: e, Settings: &settings.Settings{Project: dir}, Spec: &runspec.Spec{}, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	all := box.Registry
	inputs := map[string]string{
		"Read": `{"file_path": "link/y"}`, "Write": `{"file_path": "link/new", "content": "z"}`, "Glob": `{"pattern": "*", "path": "link"}`,
		"Edit":      `{"file_path": "x", "old_string": "text", "new_string": "b"}`,
		"MultiEdit": `{"file_path": "./sub/../x", "edits": [{"old_string": "text", "new_string": "b"}]}`,
		"Grep":      `{"pattern": "x"}`, "Bash": `{"command": "ls | wc"}`,
		"NotebookEdit":    `{"notebook_path": "link/n.ipynb", "cell_id": "a", "new_source": "x"}`,
		"EnterPlanMode":   `{}`,
		"AskUserQuestion": `{"questions": [{"question": "Which?", "header": "It", "options": [{"label": "a", "description": "b"}, {"label": "c", "description": "d"}]}]}`,
		"WebFetch":        `{"url": "https://example.com/a?b", "prompt": "what is it?"}`,
		"Agent":           `{"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}`,
		"TeamCreate":      `{"team_name": "red"}`, "TeamDelete": `{}`, "SendMessage": `{"to": "bob", "message": "hi"}`,
		"WebSearch": `{"query": "holdfast"}`, "Skill": `{"skill": "commit"}`, "TaskOutput": `{"task_id": "u1"}`, "TaskStop": `{"task_id": "u1"}`,
		"EnterWorktree": `{"name": "other"}`, "ExitWorktree": `{"action": "remove", "discard_changes": true}`,
		"TaskCreate": `{"subject": "do it"}`, "TaskGet": `{"taskId": "1"}`, "TaskList": `{}`, "TaskUpdate": `{"taskId": "1", "status": "completed"}`,
	}
	for _, s := range all.Specs() {
		if s.Name == forms.PlanTool {
			continue // what it says depends on the mode that a session is in
		}
		input, ok := inputs[s.Name]
		if !ok {
			t.Errorf("the test has no input for %s", s.Name)
			continue
		}
		at := dir
		if s.Name == worktree.ExitTool {
			at = inTree
		}
		if err := box.RestoreDir(at); err != nil {
			t.Fatal(err)
		}
		made, _ := all.Lookup(s.Name)
		want, err := made.Requests(&tool.Call{ID: "c", Tool: s.Name, Input: json.RawMessage(input)})
		if err != nil || len(want) != 1 {
			t.Fatalf("%s: %v %v", s.Name, want, err)
		}
		got, err := Call{Tool: s.Name, Input: json.RawMessage(input), Cwd: box.Folders().Cwd(), Search: e.Lookup(tools.EnvSearchURL)}.Requests()
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v %v", s.Name, got, err)
		}
		if got[0].Operation != want[0].Operation || got[0].Resource != want[0].Resource || got[0].ReadOnly != want[0].ReadOnly || got[0].Person != want[0].Person {
			t.Errorf("%s: %+v, the tool says %+v", s.Name, got[0], want[0])
		}
	}
}

// Rules can be about every tool whose calls are judged without running it.
func TestKnownTools(t *testing.T) {
	for name := range toolFields {
		if !slices.Contains(tools.KnownTools(), name) {
			t.Errorf("%s is not known", name)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
