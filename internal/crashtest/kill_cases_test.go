//go:build linux

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// killCase is an operation that is interrupted by a kill.
type killCase struct {
	prepare func(s *killEnv)
	args    []string // the arguments; $DIR in them is the scene's folder
	// over repeats or continues the operation until it is done, and checks the result.
	over func(s *killEnv)
}

// steps is a play.
type steps []map[string]any

func uses(tool string, inputs ...map[string]any) []map[string]any {
	var list []map[string]any
	for _, in := range inputs {
		list = append(list, map[string]any{"tool": tool, "input": in})
	}
	return list
}

type obj = map[string]any

// interrupted is the condition for the step that does it again.
func interrupted(tool string) obj { return obj{"tool": tool, "result_matches": "^interrupted"} }

const script, bypass = "scripted/$DIR/play.json", "bypassPermissions"

func running(more ...string) []string {
	return append([]string{"run", "--no-daemon", "--session-id", "s", "-m", script, "--output-format", "stream-json"}, more...)
}

var killCases = map[string]killCase{
	"background": {
		prepare: func(s *killEnv) {
			s.play("play", steps{
				{"when": obj{"user": "go"}, "tool_uses": uses("Bash", obj{"command": "for i in 1 2 3 4 5 6; do echo $i >> log; sleep 0.05; done", "run_in_background": true})},
				{"when": obj{"result_matches": "goes on in the background"}, "tool_uses": uses("Bash", obj{"command": "sleep 0.2"})},
				{"when": obj{"any": true}, "text": "DONE"},
			})
		},
		args: running("--permission-mode", bypass, "go"),
		over: func(s *killEnv) {
			was := s.read("log")
			s.goOn(bypass)
			if now := s.read("log"); now != was && s.killed && !strings.Contains(s.export(), `"outcome":"unknown"`) && strings.Count(now, "1\n") > 1 {
				s.Errorf("the command was run again: %q, then %q", was, now)
			}
		},
	},
	"sub-agent": {
		prepare: func(s *killEnv) {
			s.play("sub", steps{{"tool_uses": uses("Write", obj{"file_path": "sub.txt", "content": "x"})}, {"text": "SUBDONE"}})
			agent := func(prompt string) obj { return obj{"description": "a", "prompt": prompt, "subagent_type": "k"} }
			s.play("play", steps{
				{"when": obj{"user": "go"}, "tool_uses": uses("Agent", agent("one"), agent("two"))},
				{"when": interrupted("Agent"), "tool_uses": uses("Agent", agent("again"))},
				{"when": obj{"any": true}, "text": "DONE"},
			})
		},
		args: running("--permission-mode", bypass, "--agents", `{"k":{"description":"k","prompt":"you","model":"scripted/$DIR/sub.json"}}`, "go"),
		over: func(s *killEnv) {
			s.goOn(bypass, "--agents", `{"k":{"description":"k","prompt":"you","model":"scripted/$DIR/sub.json"}}`)
			if s.read("sub.txt") != "x" {
				s.Errorf("the sub-agent's file is %q", s.read("sub.txt"))
			}
		},
	},
	"plan": {
		prepare: func(s *killEnv) {
			write := uses("Write", obj{"file_path": "a.txt", "content": "one"})
			s.play("play", steps{
				{"when": obj{"user": "go"}, "tool_uses": uses("ExitPlanMode", obj{"plan": "1. write a.txt"})},
				{"when": interrupted("ExitPlanMode"), "tool_uses": uses("ExitPlanMode", obj{"plan": "1. write a.txt"})},
				{"when": obj{"tool": "ExitPlanMode"}, "tool_uses": write},
				{"when": interrupted("Write"), "tool_uses": uses("Read", obj{"file_path": "a.txt"})},
				{"when": obj{"tool": "Read", "is_error": true}, "tool_uses": write},
				{"when": obj{"any": true}, "text": "DONE"},
			})
			out, _ := s.try(running("--permission-mode", "plan", "--on-ask", "fail", "go")...)
			_, id, ok := strings.Cut(out, "approval request ")
			if !ok {
				s.Fatalf("no approval request: %s", out)
			}
			s.must("approvals", "allow", strings.Fields(id)[0], "--mode", "acceptEdits")
		},
		args: []string{"run", "--no-daemon", "--resume", "s", "-m", script, "--output-format", "stream-json"},
		over: func(s *killEnv) {
			// Killed after the call had begun and before the mode was changed, the edit is asked about.
			s.goOn("", "--on-ask", "fail")
			if s.read("a.txt") != "one" {
				s.Errorf("the plan's file is %q", s.read("a.txt"))
			}
		},
	},
	"compaction": {
		prepare: func(s *killEnv) {
			s.play("play", steps{
				{"when": obj{"system": "ummar"}, "text": "Nothing of note."},
				{"when": obj{"any": true}, "text": strings.Repeat("An answer that is long enough to be worth a summary. ", 6)},
			})
			for range 2 {
				s.must(running("go")...)
			}
			s.before = s.export()
		},
		args: []string{"sessions", "compact", "s", "-m", script, "--settings", `{"compact":{"keep":10}}`},
		over: func(s *killEnv) {
			records := s.export()
			for line := range strings.Lines(s.before) {
				if !strings.Contains(records, line) && strings.Contains(line, `"seq"`) {
					s.Errorf("lost: %s", line)
				}
			}
			if n := strings.Count(records, `"kind":"rewrite"`); n > 1 {
				s.Errorf("%d rewrites", n)
			} else if n == 0 {
				s.must("sessions", "compact", "s", "-m", script, "--settings", `{"compact":{"keep":10}}`)
			}
			s.must(running("go")...)
		},
	},
	"rewind": {
		prepare: func(s *killEnv) {
			var made, changed []map[string]any
			for i := range 6 {
				s.write(fmt.Sprintf("o%d", i), "old")
				made = append(made, obj{"file_path": fmt.Sprintf("d%d/n", i%3) + fmt.Sprint(i), "content": "new"})
				changed = append(changed, obj{"file_path": fmt.Sprintf("o%d", i), "old_string": "old", "new_string": "changed"})
			}
			for _, in := range changed {
				in["file_path"] = s.dir + "/work/" + in["file_path"].(string)
			}
			s.play("play", steps{
				{"when": obj{"told_matches": "restored files to an earlier"}, "text": "TOLD"},
				{"when": obj{"user": "and?"}, "text": "NOT TOLD"},
				{"when": obj{"user": "go"}, "tool_uses": append(uses("Write", made...), uses("Read", onlyPath(changed)...)...)},
				{"when": obj{"tool": "Write"}, "tool_uses": uses("Edit", changed...)},
				{"when": obj{"any": true}, "text": "done"},
			})
			s.must(running("--permission-mode", bypass, "go")...)
			s.after = s.files()
		},
		args: []string{"sessions", "rewind", "--to", "turn:0", "--files", "--yes", "s"},
		over: func(s *killEnv) {
			for name, text := range s.files() {
				if _, known := s.after[name]; !known || text != "old" && text != s.after[name] {
					s.Errorf("%s has %q after the kill", name, text)
				}
			}
			s.must("sessions", "rewind", "--to", "turn:1", "--files", "--yes", "s") // it can be taken back half done
			if now := s.files(); fmt.Sprint(now) != fmt.Sprint(s.after) {
				s.Errorf("taken back: %v, want %v", now, s.after)
			}
			s.must("sessions", "rewind", "--to", "turn:0", "--files", "--yes", "s")
			for name, text := range s.files() {
				if text != "old" {
					s.Errorf("%s has %q", name, text)
				}
			}
			if dirs, _ := filepath.Glob(filepath.Join(s.dir, "work", "d*")); len(dirs) > 0 {
				s.Errorf("left: %v", dirs)
			}
			if out := s.must(running("--permission-mode", bypass, "and?")...); strings.Contains(out, "NOT TOLD") {
				s.Errorf("the model was not told: %s", out)
			}
		},
	},
	"worktree": {
		prepare: func(s *killEnv) {
			s.shell("git init -q -b main && echo one > a.txt && git add a.txt && git commit -q -m first")
			side, away := obj{"name": "side"}, obj{"action": "remove", "discard_changes": true}
			s.play("play", steps{
				{"when": obj{"user": "go"}, "tool_uses": uses("EnterWorktree", side)},
				{"when": interrupted("EnterWorktree"), "tool_uses": uses("EnterWorktree", side)},
				{"when": obj{"tool": "EnterWorktree"}, "tool_uses": uses("ExitWorktree", away)},
				{"when": interrupted("ExitWorktree"), "tool_uses": uses("ExitWorktree", away)},
				{"when": obj{"any": true}, "text": "DONE"},
			})
		},
		args: running("--permission-mode", bypass, "go"),
		over: func(s *killEnv) {
			s.goOn(bypass)
			if out := s.shell("git worktree list; git status --short; git fsck; ls .git"); strings.Count(out, "[main]") != 1 || strings.Contains(out, "side") || strings.Contains(out, ".lock") {
				s.Errorf("the repository: %s", out)
			}
		},
	},
	"MCP server": {
		prepare: func(s *killEnv) {
			s.write("play.json", "")
			s.must("mcp", "add", "-s", "project", "old", "--", "true")
		},
		args: []string{"mcp", "add", "-s", "project", "new", "--", "true", strings.Repeat("x", 3000)},
		over: func(s *killEnv) {
			s.must("mcp", "add", "--replace", "-s", "project", "new", "--", "true")
			var doc struct {
				Servers map[string]any `json:"mcpServers"`
			}
			if err := json.Unmarshal([]byte(s.read(".mcp.json")), &doc); err != nil || len(doc.Servers) != 2 {
				s.Errorf("%v: %s", err, s.read(".mcp.json"))
			}
			s.must("mcp", "list")
		},
	},
	"tasks": {
		prepare: func(s *killEnv) {
			var subjects []map[string]any
			for n := range 2 {
				var work steps
				for i := range 3 {
					id := fmt.Sprint(3*n + i + 1)
					subjects = append(subjects, obj{"subject": "task " + id})
					work = append(work,
						obj{"tool_uses": uses("TaskUpdate", obj{"taskId": id, "status": "in_progress"})},
						obj{"tool_uses": uses("TaskUpdate", obj{"taskId": id, "status": "completed"})})
				}
				s.play(fmt.Sprint("w", n), append(work, obj{"text": "worked"}))
			}
			hire := append(uses("Agent", obj{"description": "a", "prompt": "work", "subagent_type": "k0"}), uses("Agent", obj{"description": "b", "prompt": "work", "subagent_type": "k1"})...)
			s.play("play", steps{
				{"when": obj{"user": "go"}, "tool_uses": uses("TaskCreate", subjects...)},
				{"when": interrupted("TaskCreate"), "text": "DONE"},
				{"when": obj{"tool": "TaskCreate"}, "tool_uses": hire},
				{"when": obj{"any": true}, "text": "DONE"},
			})
		},
		args: running("--permission-mode", bypass, "--agents", twoKinds, "go"),
		over: func(s *killEnv) {
			acknowledged := strings.Count(s.killedSaid, "is completed")
			s.goOn(bypass, "--agents", twoKinds)
			if n := strings.Count(s.export(), `"completed"`); n < acknowledged {
				s.Errorf("%d tasks are completed, %d were said to be", n, acknowledged)
			}
		},
	},
}

const twoKinds = `{"k0":{"description":"k","prompt":"you","model":"scripted/$DIR/w0.json"},"k1":{"description":"k","prompt":"you","model":"scripted/$DIR/w1.json"}}`

func onlyPath(list []map[string]any) []map[string]any {
	var out []map[string]any
	for _, in := range list {
		out = append(out, obj{"file_path": in["file_path"]})
	}
	return out
}

// The program is killed during an operation of several steps. Afterwards no process of it is
// left, every log verifies, what it reported is in them, repeating the operation completes it,
// and the next start removes its temporary files.
func TestKilledDuringOperation(t *testing.T) {
	takesLong(t)
	n := 1
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		n = 20
	}
	bin := testprogram.Path(t)
	for name, p := range killCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := random(t)
			whole := newKillEnv(t, bin, p)
			usual := whole.killAfter(p, time.Minute)
			whole.verify()
			p.over(whole)
			for range n {
				s := newKillEnv(t, bin, p)
				at := time.Duration(rng.Float64() * float64(usual))
				s.killAfter(p, at)
				if s.verify(); t.Failed() {
					t.Fatalf("killed after %v of %v", at, usual)
				}
				p.over(s)
				s.verify()
				if s.clean(); t.Failed() {
					t.Fatalf("killed after %v of %v\n%s", at, usual, s.must("sessions", "show", "--records", "s"))
				}
			}
		})
	}
}

// killEnv is a home and a folder to work in.
type killEnv struct {
	*testing.T
	bin, dir string
	env      []string

	before     string
	after      map[string]string
	killed     bool
	killedSaid string
}

func newKillEnv(t *testing.T, bin string, p killCase) *killEnv {
	t.Helper()
	s := &killEnv{T: t, bin: bin, dir: t.TempDir()}
	for _, d := range []string{"home", "work", "tmp"} {
		if err := os.Mkdir(filepath.Join(s.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(slices.DeleteFunc(environ(filepath.Join(s.dir, "home")), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }),
		"TMPDIR="+filepath.Join(s.dir, "tmp"), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	p.prepare(s)
	return s
}

func (s *killEnv) command(args ...string) *exec.Cmd {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$DIR", s.dir)
	}
	cmd := exec.CommandContext(context.Background(), s.bin, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join(s.dir, "work"), s.env, time.Second
	return cmd
}

func (s *killEnv) try(args ...string) (string, error) {
	out, err := s.command(args...).CombinedOutput()
	return string(out), err
}

func (s *killEnv) must(args ...string) string {
	s.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.Errorf("%s: %v\n%s", args, err, out)
	}
	return out
}

// killAfter starts the operation and kills it after a time. It returns how long it ran.
func (s *killEnv) killAfter(p killCase, after time.Duration) time.Duration {
	s.Helper()
	cmd := s.command(p.args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	s.killed, s.killedSaid = !timer.Stop(), out.String()
	if err != nil && !s.killed {
		s.Fatalf("%s: %v\n%s", p.args, err, &out)
	}
	return time.Since(began)
}

// verify checks what a kill left.
func (s *killEnv) verify() {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.living() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("it lives on: %s", s.living())
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "home", "sessions.db")); err != nil {
		return // it was killed before there was anything
	}
	s.must("sessions", "verify", "--all")
	if !strings.Contains(s.killedSaid, `"type":"assistant"`) {
		return
	}
	records := s.export()
	for line := range strings.Lines(s.killedSaid) {
		var said struct {
			Type    string
			Parent  *string `json:"parent_tool_use_id"`
			Message struct{ ID string }
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.Type != "assistant" || said.Parent != nil {
			continue
		}
		if !strings.Contains(records, strings.TrimPrefix(said.Message.ID, "msg_")) {
			s.Errorf("it was said, and is not in the log: %s", line)
		}
	}
}

// living is a process that belongs to the scene.
func (s *killEnv) living() string {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(s.dir+"/home")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			return fmt.Sprintf("%s: %q", name, line)
		}
	}
	return ""
}

// goOn runs until there is nothing to do.
func (s *killEnv) goOn(mode string, more ...string) {
	s.Helper()
	args := []string{"run", "-q", "--no-daemon", "--session-id", "s", "-m", script}
	if mode != "" {
		args = append(args, "--permission-mode", mode)
	}
	args = append(args, more...)
	for range 6 {
		if out, _ := s.try("sessions", "show", "s"); strings.Contains(out, "\nDONE") {
			return
		}
		out, err := s.try(args...)
		if err != nil && strings.Contains(out, nothingToDo) { // the prompt was not recorded
			out, err = s.try(append(slices.Clone(args), "go")...)
		}
		if _, id, asked := strings.Cut(out, "approval request "); err != nil && asked {
			s.must("approvals", "allow", strings.Fields(id)[0])
			continue
		}
		if err != nil {
			s.Errorf("going on: %v\n%s", err, out)
		}
	}
	out, _ := s.try("sessions", "show", "s")
	s.Errorf("it comes to no end:\n%s", out)
}

// clean looks at the folders for temporary files, after another start.
func (s *killEnv) clean() {
	s.Helper()
	_, _ = s.try(running("more")...) // not every play has an answer
	for _, pattern := range []string{"tmp/*", "home/output/*"} {
		left, _ := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, name := range left {
			if os.Remove(name) == nil || strings.HasPrefix(pattern, "tmp") {
				s.Errorf("left: %s", name)
			}
		}
	}
}

func (s *killEnv) export() string { out, _ := s.try("sessions", "export", "s"); return out }

func (s *killEnv) play(name string, p steps) {
	raw, err := json.Marshal(obj{"name": name, "steps": p})
	if err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, name+".json"), raw, 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *killEnv) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.dir, "work", name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *killEnv) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "work", name))
	return string(b)
}

func (s *killEnv) files() map[string]string { return tree(s.T, filepath.Join(s.dir, "work")) }

func (s *killEnv) shell(command string) string {
	cmd := exec.CommandContext(context.Background(), "sh", "-c", command)
	cmd.Dir, cmd.Env = filepath.Join(s.dir, "work"), s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Errorf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
