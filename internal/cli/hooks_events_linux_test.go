package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// hookCase is a real run of the program that fires events.
type hookCase struct {
	play  string
	args  []string
	fires []hook.Event // the events that this case must fire
}

// hookCases fire every event. A new event needs a case here: without one [TestEveryEventIsFired] fails.
var hookCases = map[string]hookCase{
	"work": {
		args: []string{"--init", "--fallback-model", "scripted/fallback.yaml", "--allowed-tools", "Bash", "--allowed-tools", "EnterWorktree", "--allowed-tools", "ExitWorktree"},
		play: `
context: 30000
steps:
  - {when: {user: SUBTASK}, text: the part is done}
  - {when: {system: summarise the history}, text: much was done}
  - tool_uses:
      - {tool: Read, input: {file_path: a.txt}}
      - {tool: Read, input: {file_path: nowhere.txt}}
  - tool_uses: [{tool: Bash, input: {command: "touch asked"}}]
  - tool_uses: [{tool: Bash, input: {command: "true", run_in_background: true}}]
  - tool_uses:
      - tool: Bash
        input: {timeout: 20000, command: "until ls events/Notification.*; do sleep 0.05; done; echo 1 > watched.txt; until ls events/ConfigChange.*; do sleep 0.05; done; mkdir -p sub; cd sub"}
  - tool_uses: [{tool: TaskCreate, input: {subject: build}}]
  - tool_uses: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - tool_uses: [{tool: Agent, input: {description: a part, prompt: SUBTASK one}}]
  - tool_uses: [{tool: EnterWorktree, input: {name: x}}]
  - tool_uses: [{tool: ExitWorktree, input: {action: remove}}]
  - {tool_uses: [{tool: Read, input: {file_path: a.txt}}], usage: {input: 29000, output: 1}}
  - error: {kind: not_found}
`,
		fires: []hook.Event{
			hook.Setup, hook.SessionStart, hook.InstructionsLoaded, hook.UserPromptSubmit, hook.PreToolUse, hook.PostToolUse, hook.PostToolUseFailure, hook.PostToolBatch,
			hook.PermissionRequest, hook.PermissionDenied, hook.Notification, hook.FileChanged, hook.ConfigChange, hook.CwdChanged, hook.TaskCreated, hook.TaskCompleted,
			hook.SubagentStart, hook.SubagentStop, hook.WorktreeCreate, hook.WorktreeRemove, hook.PreCompact, hook.PostCompact, hook.PostModelSwitch, hook.Stop, hook.SessionEnd,
		},
	},
	"team": {
		play: `
steps:
  - {when: {user: SUBTASK}, text: I have nothing to do}
  - tool_uses: [{tool: TeamCreate, input: {team_name: crew}}]
  - tool_uses: [{tool: Agent, input: {description: a mate, prompt: SUBTASK one, name: ann, team_name: crew}}]
  - text: I wait
  - text: they are done
  - text: they still are
  - text: and still
`,
		fires: []hook.Event{hook.TeammateIdle},
	},
	"refused": {
		play:  "steps:\n  - error: {kind: invalid, message: no}\n",
		fires: []hook.Event{hook.StopFailure},
	},
	"server": {
		args: []string{"--mcp-config", `{"mcpServers": {"asker": {"command": "./asker"}}}`, "--allowed-tools", "mcp__asker"},
		play: `
steps:
  - tool_uses: [{tool: mcp__asker__book, input: {}}]
  - text: it is booked
`,
		fires: []hook.Event{hook.Elicitation, hook.ElicitationResult},
	},
	"skill": {
		args:  []string{"/greet ann"},
		play:  "steps:\n  - text: hello ann\n",
		fires: []hook.Event{hook.UserPromptExpansion},
	},
}

// hookEnv is a project in which every event has a hook that writes its input to a file.
type hookEnv struct {
	t            *testing.T
	dir, project string
	env          []string
}

func newHookEnv(t *testing.T) *hookEnv {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Need(t, "git is not installed: apt-get install git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &hookEnv{t: t, dir: dir, project: filepath.Join(dir, "p")}
	home := filepath.Join(dir, "home")
	s.env = []string{"HOME=" + dir, "HOLDFAST_HOME=" + home, "HOLDFAST_NO_DAEMON=1", "NO_COLOR=1", "TERM=xterm", "USER=ann", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	s.write("p/a.txt", "one\n")
	s.write("p/AGENTS.md", "Be brief.\n")
	s.write("home/skills/greet/SKILL.md", "---\nname: greet\ndescription: Greets.\n---\nGreet $ARGUMENTS.\n")
	s.write("p/.holdfast/settings.json", "{}")
	s.write("p/events/.keep", "")
	s.write("p/fallback.yaml", "steps:\n  - {when: {any: true}, text: the other one ends it}\n")
	s.write("home/settings.json", s.settings())
	asker, err := exec.LookPath("asker")
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox shows it only in the project.
	if out, err := exec.Command("cp", "-L", asker, filepath.Join(s.project, "asker")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.txt"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return s
}

func (s *hookEnv) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// settings returns settings with a hook for each event of the table, in both dialects. The hook of FileChanged
// changes settings, as a user might during a run.
func (s *hookEnv) settings() string {
	type handler map[string]any
	hooks := map[string]any{}
	for _, event := range hook.Events() {
		// Process IDs are those of a PID namespace, so they are not unique.
		note := `f=$(mktemp events/.part.XXXXXX) && cat > "$f" && mv "$f" "events/$HOOK_EVENT.${f##*.}"`
		group := map[string]any{}
		if event == hook.FileChanged {
			group["matcher"] = "watched.txt"
		}
		group["hooks"] = []handler{{"type": "command", "command": note, "sandbox": "off"}}
		if event == hook.FileChanged {
			more := `echo '{"permissions": {"deny": ["Read(secret)"]}}' > .holdfast/settings.json`
			group["hooks"] = append(group["hooks"].([]handler), handler{"type": "command", "command": more, "sandbox": "off"})
		}
		hooks[string(event)] = []any{group}
		if name := event.Spelled("seed"); name != string(event) {
			flat := handler{"command": note, "sandbox": "off"}
			hooks[name] = []handler{flat}
		}
	}
	raw, err := json.Marshal(map[string]any{"hooks": hooks, "permissions": map[string]any{"ask": []string{"Bash(touch asked)"}, "onAsk": "wait", "askTimeout": "100ms"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw)
}

// run runs the program.
func (s *hookEnv) run(name string, sc *hookCase) string {
	s.t.Helper()
	s.write("p/"+name+".yaml", sc.play)
	args := append([]string{"run", "--verbose", "--model", "scripted/" + name + ".yaml"}, sc.args...)
	if name != "skill" {
		args = append(args, "go")
	}
	var out bytes.Buffer
	p := command.Program{
		Args: args, Env: s.env, Stdout: &out, Stderr: &out, Getwd: func() (string, error) { return s.project, nil },
		Managed: filepath.Join(s.dir, "managed.json"),
	}
	ctx, done := context.WithTimeout(s.t.Context(), time.Minute) // so that a run that hangs fails the test
	defer done()
	code := Run(ctx, &p)
	return fmt.Sprintf("%sexit code %d", out.String(), code)
}

// seen returns the inputs that hooks of an event, under one of its names, received.
func (s *hookEnv) seen(name string) []map[string]any {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.project, "events", name+".*"))
	if err != nil {
		s.t.Fatal(err)
	}
	var list []map[string]any
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		var in map[string]any
		if err := json.Unmarshal(raw, &in); err != nil {
			s.t.Errorf("the input of %s is not JSON: %v\n%s", name, err, raw)
			continue
		}
		list = append(list, in)
	}
	return list
}

// TestEveryEventIsFired runs the program and checks that it fires each event of the table, to commands in both
// dialects, with every field that Claude Code's scripts rely on.
func TestEveryEventIsFired(t *testing.T) {
	raw, err := os.ReadFile("../../hook/testdata/claude-fields.json") // from @anthropic-ai/claude-agent-sdk 0.3.329
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string][]string
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	s := newHookEnv(t)
	outputs := map[hook.Event]string{}
	for name, sc := range hookCases {
		began := time.Now()
		out := s.run(name, &sc)
		t.Logf("%s: %v", name, time.Since(began).Round(time.Millisecond))
		for _, e := range sc.fires {
			outputs[e] = out
		}
	}
	for _, event := range hook.Events() {
		out, ok := outputs[event]
		if !ok {
			t.Errorf("%s has no scene that provokes it", event)
			continue
		}
		inputs := s.seen(string(event))
		if len(inputs) == 0 {
			t.Errorf("%s was never fired. The output of the run:\n%s", event, out)
			continue
		}
		want := fields[string(event)]
		if len(want) == 0 {
			t.Errorf("%s is not in the table of fields", event)
		}
		for _, in := range inputs {
			for _, f := range want {
				if _, ok := in[f]; !ok {
					t.Errorf("%s was fired without %s: %v", event, f, in)
				}
			}
			if in["hook_event_name"] != string(event) || in["session_id"] == "" {
				t.Errorf("%s was fired as %v", event, in)
			}
		}
		if name := event.Spelled("seed"); name != string(event) && len(s.seen(name)) == 0 {
			t.Errorf("%s was never fired in the Open Agent SDK's dialect", name)
		}
	}
	for what, ok := range map[string]bool{
		"the permission prompt":     s.hasField(hook.Notification, "notification_type", "permission_prompt"),
		"the end in the background": s.hasField(hook.Notification, "notification_type", "task_completed"),
		"an automatic compaction":   s.hasField(hook.PreCompact, "trigger", "auto"),
		"the project's settings":    s.hasField(hook.ConfigChange, "source", "project_settings"),
		"the file that was watched": s.hasField(hook.FileChanged, "file_path", filepath.Join(s.project, "watched.txt")),
		"the folder that was left":  s.hasField(hook.CwdChanged, "new_cwd", filepath.Join(s.project, "sub")),
		"what a server asks":        s.hasField(hook.Elicitation, "message", "Which seat?"),
		"what it is answered":       s.hasField(hook.ElicitationResult, "action", "cancel"),
		"the worktree":              s.hasField(hook.WorktreeRemove, "worktree_path", filepath.Join(s.project, ".holdfast/worktrees/x")),
	} {
		if !ok {
			t.Errorf("no hook got %s", what)
		}
	}
}

// hasField reports whether an event was fired with a value in a field.
func (s *hookEnv) hasField(e hook.Event, field, want string) bool {
	return slices.ContainsFunc(s.seen(string(e)), func(in map[string]any) bool { return in[field] == want })
}
