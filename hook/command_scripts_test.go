package hook

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/hooktranscript"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/transcript"
)

// scripted is a project in which one of testdata/scripts is set up as Claude Code's
// documentation says: the script in .claude/hooks, its settings decoded.
type scripted struct {
	*fixture
	*Registry
	transcript string // as hooks see it
}

func newScripted(t *testing.T, script string) *scripted {
	t.Helper()
	for _, program := range []string{"jq", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Need(t, "no %s on the PATH: apt-get install %s makes this run", program, program)
		}
	}
	s := &scripted{fixture: newFixture(t, func(o *CommandsOptions) { o.EnvFile = "/tmp/env.sh" })}
	name := filepath.Join("testdata/scripts", script)
	dir := filepath.Join(s.dir, ".claude/hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, script), b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.TrimSuffix(name, filepath.Ext(name)) + ".json"
	b, err = os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Hooks json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	list, err := (&SettingsBlock{JSON: file.Hooks, Layer: layernames.User, File: settings}).Decode()
	if err != nil {
		t.Fatal(err)
	}
	s.Registry = New(&Options{Runner: s.Commands})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Register(list...); err != nil {
		t.Fatal(err)
	}
	return s
}

// fire tells the script of an event; a failure of it fails the test.
func (s *scripted) fire(t *testing.T, in Input) Outcome {
	t.Helper()
	in.SessionID, in.CWD, in.TranscriptPath, in.PermissionMode = "s1", s.dir, s.transcript, "default"
	out := s.Fire(context.Background(), in)
	if out.Ran != nil {
		for _, run := range out.Ran.Hooks {
			if run.Error != "" {
				t.Fatalf("%s failed: %s", run.Name, run.Error)
			}
		}
	}
	return out
}

func bashCall(e Event, command string) Input {
	b, _ := json.Marshal(map[string]string{"command": command})
	return Input{Event: e, Tool: ToolCall{Name: "Bash", Input: b, UseID: "u1"}}
}

func (s *scripted) write(t *testing.T, name, text string) string {
	t.Helper()
	full := filepath.Join(s.dir, name)
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return full
}

func whatOf(s *Text) string {
	if s == nil {
		return ""
	}
	return s.Text
}

func outcomeText(list []Text) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Text)
	}
	return strings.Join(out, "|")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func TestScriptBlocksByExitCode(t *testing.T) {
	s := newScripted(t, "block-rm.sh")
	out := s.fire(t, bashCall(PreToolUse, "cd /x && rm -rf build"))
	same(t, "the block", whatOf(out.Block), "Blocked: rm -rf is not allowed in this project. Move files to .trash instead.")
	if out := s.fire(t, bashCall(PreToolUse, "ls -rf")); out.Block != nil || len(out.Notices) > 0 {
		t.Errorf("it blocks %+v", out)
	}
	if out := s.fire(t, Input{Event: PreToolUse, Tool: ToolCall{Name: "Write"}}); out.Ran != nil {
		t.Error("it is told of another tool")
	}
}

func TestScriptDeniesByJSON(t *testing.T) {
	s := newScripted(t, "protect-files.py")
	in := Input{Event: PreToolUse, Tool: ToolCall{Name: "Write", Input: []byte(`{"file_path":".env","content":"x"}`)}}
	out := s.fire(t, in)
	if out.Permission != "deny" || out.PermissionReason != s.dir+"/.env is protected (.env)" {
		t.Errorf("%+v", out.Permission)
	}
	in.Tool.Input = []byte(`{"file_path":"main.go","content":"x"}`)
	if out := s.fire(t, in); out.Permission != "" || out.Block != nil {
		t.Errorf("%+v", out)
	}
}

func TestScriptRewritesInput(t *testing.T) {
	s := newScripted(t, "npm-flags.sh")
	out := s.fire(t, bashCall(PreToolUse, "npm install left-pad"))
	var input struct{ Command string }
	if err := json.Unmarshal(out.Input, &input); err != nil {
		t.Fatal(err, string(out.Input))
	}
	same(t, "the command", input.Command, "npm install left-pad --no-audit --no-fund")
	if out.Permission != "allow" {
		t.Errorf("%+v", out.Permission)
	}
	if out := s.fire(t, bashCall(PreToolUse, "npm test")); out.Input != nil || out.Permission != "" {
		t.Errorf("%+v", out)
	}
}

func TestScriptAddsContextAtTheStart(t *testing.T) {
	s := newScripted(t, "session-context.sh")
	s.write(t, "TODO.md", "- one\n- two\n")
	out := s.fire(t, Input{Event: SessionStart, Source: "startup", Model: "m"})
	same(t, "the context", outcomeText(out.Context), "Session source: startup\nOpen tasks:\n- one\n- two")
	b, err := os.ReadFile(filepath.Join(s.temp, "env.sh"))
	if err != nil || string(b) != "export NODE_ENV=development\n" {
		t.Errorf("the variables are %q, %v", b, err)
	}
	if out := s.fire(t, Input{Event: SessionStart, Source: "compact"}); out.Ran != nil {
		t.Error("it is told of another source")
	}
}

func TestScriptAddsContextByText(t *testing.T) {
	s := newScripted(t, "prompt-time.sh")
	out := s.fire(t, Input{Event: UserPromptSubmit, Prompt: "hello"})
	same(t, "the context", outcomeText(out.Context), "Current branch: main\nWorking directory: "+s.dir)
}

func TestScriptBlocksAPrompt(t *testing.T) {
	s := newScripted(t, "prompt-secrets.py")
	out := s.fire(t, Input{Event: UserPromptSubmit, Prompt: "my password: hunter2"})
	same(t, "the block", whatOf(out.Block), "Security policy violation: the prompt contains a secret. Rephrase it without.")
	out = s.fire(t, Input{Event: UserPromptSubmit, Prompt: "what is a monad"})
	if out.Block != nil {
		t.Errorf("%+v", out.Block)
	}
	same(t, "the context", outcomeText(out.Context), "The prompt was checked for secrets.")
}

func TestScriptGivesFeedback(t *testing.T) {
	s := newScripted(t, "check-format.py")
	file := s.write(t, "x.py", "a = 1\nb = 2  \n")
	in := Input{Event: PostToolUse, Tool: ToolCall{Name: "Write", Input: []byte(`{"file_path":"x.py","content":""}`), Response: []byte(`{"type":"create"}`)}}
	out := s.fire(t, in)
	same(t, "the block", whatOf(out.Block), file+" has trailing whitespace in line 2")
	same(t, "the context", outcomeText(out.Context), "The formatter strips trailing whitespace.")
	s.write(t, "x.py", "a = 1\n")
	if out := s.fire(t, in); out.Block != nil || len(out.Context) > 0 {
		t.Errorf("%+v", out)
	}
}

func TestScriptKeepsTheAgentGoing(t *testing.T) {
	s := newScripted(t, "keep-going.sh")
	const reason = "The tests have not been run. Run go test ./... before you finish."
	stop := Input{Event: Stop, Reason: "completed"}
	same(t, "the block", whatOf(s.fire(t, stop).Block), reason)
	active := stop
	active.End.StopHookActive = true
	if out := s.fire(t, active); out.Block != nil {
		t.Errorf("it blocks twice: %+v", out.Block)
	}

	m, err := hooktranscript.New(s.temp, &hooktranscript.Options{Name: "t.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s.transcript = "/tmp/t.jsonl"
	add := func(it transcript.Item) {
		t.Helper()
		if err := m.ItemAppended("s1", it.MustEncode()); err != nil {
			t.Fatal(err)
		}
	}
	add(transcript.UserText("run go test"))
	same(t, "the block", whatOf(s.fire(t, stop).Block), reason)
	use := transcript.ToolUse{ID: "u1", Name: "Bash", Input: []byte(`{"command":"go test ./..."}`)}
	add(transcript.Item{ID: "a1", Role: transcript.RoleAssistant, Parts: []transcript.Part{use}})
	if out := s.fire(t, stop); out.Block != nil {
		t.Errorf("the tests were run: %+v", out.Block)
	}
}

func TestScriptLogsNotifications(t *testing.T) {
	s := newScripted(t, "notify-log.sh")
	s.fire(t, Input{Event: Notification, Note: UserNotification{Body: "may I?", Type: "permission_prompt"}})
	s.fire(t, Input{Event: Notification, Note: UserNotification{Body: "x", Type: "auth_success"}})
	b, err := os.ReadFile(filepath.Join(s.dir, "notifications.log"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the log", string(b), "[permission_prompt] may I?\n")
}

func TestScriptAnswersPermissionRequests(t *testing.T) {
	s := newScripted(t, "approve-reads.py")
	for command, want := range map[string]string{"git status": "allow", "git push": "deny Pushes are made by people.", "make": ""} {
		out := s.fire(t, bashCall(PermissionRequest, command))
		got := ""
		if out.Permission != "" {
			got = strings.TrimSpace(out.Permission + " " + out.PermissionReason)
		}
		same(t, command, got, want)
		if out.Interrupt != (command == "git push") {
			t.Errorf("%s: interrupt is %v", command, out.Interrupt)
		}
	}
}

func TestScriptReplacesOutput(t *testing.T) {
	s := newScripted(t, "redact-output.py")
	in := bashCall(PostToolUse, "cat people")
	in.Tool.Response = []byte(`{"stdout":"Ann 123-45-6789","stderr":""}`)
	out := s.fire(t, in)
	var got struct{ Stdout string }
	if err := json.Unmarshal(out.ToolOutput, &got); err != nil {
		t.Fatal(err, string(out.ToolOutput))
	}
	same(t, "the output", got.Stdout, "Ann [SSN]")
	same(t, "what the person is told", outcomeText(out.Notices), "A social security number was taken out.")
	in.Tool.Response = []byte(`"Ann 123-45-6789"`)
	same(t, "the output", string(s.fire(t, in).ToolOutput), `"Ann [SSN]"`)
}

func TestScriptInTheBackground(t *testing.T) {
	s := newScripted(t, "archive-transcript.sh")
	m, err := hooktranscript.New(s.temp, &hooktranscript.Options{Name: "t.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s.transcript = "/tmp/t.jsonl"
	said := transcript.Item{ID: "a", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "famous last words"}}}
	if err := m.ItemAppended("s1", said.MustEncode()); err != nil {
		t.Fatal(err)
	}
	s.fire(t, Input{Event: PreCompact, Trigger: "auto"})
	waitFor(t, func() bool {
		for _, out := range s.AsyncOutcomes("s1") {
			return outcomeText(out.Notices) == "Archived before auto compaction"
		}
		return false
	})
	b, err := os.ReadFile(filepath.Join(s.dir, "last-words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the archive", string(b), "famous last words\n")
}
