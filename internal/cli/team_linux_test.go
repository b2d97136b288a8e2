package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// teamStep is a step of a script, as YAML, of which JSON is a subset.
type teamStep map[string]any

type uses []map[string]any

func call(name string, input map[string]any) uses { return uses{{"tool": name, "input": input}} }

// again returns a step that is repeated until its outcome is known. The calls of redo must also be correct if
// those of the step have taken effect.
func again(name string, when teamStep, do, redo uses) []teamStep {
	first := teamStep{"name": name, "tool_uses": do}
	if when != nil {
		first["when"] = when
	}
	lost := "^interrupted"
	return []teamStep{
		first,
		{"name": name + "-again", "when": teamStep{"after": name, "result_matches": lost}, "tool_uses": redo},
		{"name": name + "-once-more", "when": teamStep{"after": name + "-again", "result_matches": lost}, "tool_uses": redo},
	}
}

// worker returns the script of a teammate with one task. When the command is run again, clean removes what the
// first run left incomplete.
func worker(name, task, clean, command string) []teamStep {
	// The lock of a killed git.
	unlock := `rm -f "$(git rev-parse --git-dir)"/*.lock "$(git rev-parse --git-common-dir)/refs/heads/worktree-` + name + `.lock"; `
	note := "echo " + name + " >> " + name + ".log && git add -A && git commit -q -m " + name
	begin := call("TaskUpdate", teamStep{"taskId": task, "status": "in_progress"})
	enter := call("EnterWorktree", teamStep{"name": name})
	work, rework := call("Bash", teamStep{"command": unlock + command}), call("Bash", teamStep{"command": unlock + clean + command})
	done := call("TaskUpdate", teamStep{"taskId": task, "status": "completed"})
	report := call("SendMessage", teamStep{"to": "team-lead", "message": name + " is done"})
	return slices.Concat(
		[]teamStep{
			{"name": "told", "when": teamStep{"told": "was delivered to"}, "text": name + " has done task " + task},
			{"name": "untold", "when": teamStep{"told": "was not delivered to"}, "tool_uses": report},
		},
		again("begin", teamStep{"told": "You own task " + task + ","}, begin, begin),
		again("enter", nil, enter, enter),
		again("work", nil, work, rework),
		again("note", nil, call("Bash", teamStep{"command": note}),
			call("Bash", teamStep{"command": unlock + "if [ -s " + name + ".log ]; then git add -A; git diff --cached --quiet || git commit -q -m " + name + "; else " + note + "; fi"})),
		again("done", nil, done, done),
		[]teamStep{
			{"name": "tell", "tool_uses": report},
			{"name": "end", "when": teamStep{"tool": "SendMessage"}, "text": name + " has done task " + task},
			{"name": "wait", "when": teamStep{"told": "Wait for your task"}, "text": "I wait."},
		})
}

// leader returns the script of the lead.
func leader() []teamStep {
	create := func(n int) uses {
		return call("TaskCreate", []teamStep{
			{"subject": "write the greeting", "owner": "ann"},
			{"subject": "write the name", "owner": "bob"},
			{"subject": "join them", "owner": "eve", "blockedBy": []string{"1", "2"}},
			{"subject": "merge what is joined", "blockedBy": []string{"3"}},
		}[n-1])
	}
	var hire uses
	for _, name := range []string{"ann", "bob", "eve"} {
		hire = append(hire, map[string]any{"tool": "Agent", "input": teamStep{
			"description": "work as " + name, "prompt": "Wait for your task", "subagent_type": name + "-kind", "name": name, "team_name": "builders",
		}})
	}
	lost := func(tool string) teamStep { return teamStep{"tool": tool, "result_matches": "^interrupted"} }
	look := call("TaskList", teamStep{})
	merge := call("Bash", teamStep{"command": "git merge -q --ff-only worktree-eve && git log --oneline | wc -l"})
	finish := call("TaskUpdate", teamStep{"taskId": "4", "status": "completed"})
	steps := []teamStep{
		{"when": teamStep{"told": "eve is done"}, "tool_uses": merge},
		{"when": lost("TaskCreate"), "tool_uses": look},
		{"when": lost("TaskList"), "tool_uses": look},
	}
	for n := 4; n >= 1; n-- {
		next := hire
		if n < 4 {
			next = create(n + 1)
		}
		steps = append(steps,
			teamStep{"when": teamStep{"tool": "TaskList", "result_matches": fmt.Sprintf(`(?m)^%d \[`, n)}, "tool_uses": next},
			teamStep{"when": teamStep{"tool": "TaskCreate", "result": fmt.Sprintf("Task %d was added to the list", n)}, "tool_uses": next})
	}
	return append(steps,
		teamStep{"when": teamStep{"tool": "TaskList"}, "tool_uses": create(1)},
		teamStep{"when": teamStep{"user": "build"}, "tool_uses": create(1)},
		teamStep{"when": lost("Agent"), "tool_uses": hire},
		teamStep{"when": teamStep{"tool": "Agent"}, "text": "The team works."},
		teamStep{"when": lost("Bash"), "tool_uses": merge},
		teamStep{"when": teamStep{"tool": "Bash"}, "tool_uses": finish},
		teamStep{"when": lost("TaskUpdate"), "tool_uses": finish},
		teamStep{"when": teamStep{"tool": "TaskUpdate"}, "text": "All is merged."},
		teamStep{"when": teamStep{"any": true}, "text": "Noted."},
	)
}

// teamEnv is a repository with a team that works in it.
type teamEnv struct {
	t         *testing.T
	dir, home string
	env       []string
	args      []string
}

func newTeamEnv(t *testing.T) *teamEnv {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Need(t, "git: %v", err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &teamEnv{t: t, dir: filepath.Join(dir, "repo"), home: filepath.Join(dir, "home")}
	s.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "HOLDFAST_")
	}), "HOLDFAST_HOME="+s.home, "HOME="+dir, "NO_COLOR=1")
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "test"},
		{"config", "user.email", "test@example.org"},
		{"commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		s.git(args...)
	}
	t.Cleanup(s.printLogs)
	kinds := map[string]any{}
	save := func(name string, steps []teamStep) string {
		raw, err := json.Marshal(map[string]any{"name": name, "steps": steps})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return "scripted/" + file
	}
	for name, steps := range map[string][]teamStep{
		"ann": worker("ann", "1", "", "echo hello > greeting.txt"),
		"bob": worker("bob", "2", "", "echo world > name.txt"),
		"eve": worker("eve", "3", "git reset -q --hard && git clean -fdq && ", "git merge -q --no-edit worktree-ann worktree-bob && cat greeting.txt name.txt > joined.txt"),
	} {
		kinds[name+"-kind"] = teamStep{"description": "works as " + name, "prompt": "You do one task.", "model": save(name, steps)}
	}
	raw, err := json.Marshal(kinds)
	if err != nil {
		t.Fatal(err)
	}
	s.args = []string{
		"run", "--no-daemon", "-m", save("lead", leader()), "--agents", string(raw), "--permission-mode", "acceptEdits",
		"--allowed-tools", "Bash", "--allowed-tools", "EnterWorktree", "--session-id", "lead",
	}
	return s
}

// printLogs prints the content of each log, if the test has failed.
func (s *teamEnv) printLogs() {
	if !s.t.Failed() {
		return
	}
	store, err := sqlite.Open(filepath.Join(s.home, "sessions.db"), nil)
	if err != nil {
		return
	}
	defer func() { _ = store.Close() }()
	begun, err := session.New(store, nil).Children(context.Background(), "lead")
	ids := []string{"lead"}
	for _, b := range begun {
		ids = append(ids, b.ID)
	}
	for _, id := range ids {
		cmd := exec.Command("holdfast", "sessions", "show", id)
		cmd.Dir, cmd.Env = s.dir, s.env
		out, _ := cmd.CombinedOutput()
		s.t.Logf("%v\n%s", err, out)
	}
}

func (s *teamEnv) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *teamEnv) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "holdfast", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// sessions reads the store while a run writes it.
func (s *teamEnv) sessions() *session.Sessions {
	s.t.Helper()
	store, err := sqlite.Open(filepath.Join(s.home, "sessions.db"), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = store.Close() })
	return session.New(store, nil)
}

// kill runs the team until enough is true, and then kills it.
func (s *teamEnv) kill(enough func() bool) {
	s.t.Helper()
	cmd := s.command(append(slices.Clone(s.args), "build")...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !enough() {
		select {
		case err := <-ended:
			s.t.Fatalf("the run has ended before it was killed: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Fatal(err)
	}
	<-ended
}

// done counts the completed tasks.
func (s *teamEnv) done(ctx context.Context, all *session.Sessions) int {
	list, err := tasks.Open(all, "lead", nil).List(ctx)
	n := 0
	for _, t := range list {
		if err == nil && t.Status == tasks.Completed {
			n++
		}
	}
	return n
}

// resume resumes until no agent has anything to do.
func (s *teamEnv) resume(all *session.Sessions) {
	s.t.Helper()
	over := s.done(s.t.Context(), all) == 4
	cmd := s.command(s.args...)
	out, err := cmd.CombinedOutput()
	if over && strings.Contains(string(out), "no input and no pending approval") {
		return
	}
	if err != nil {
		s.t.Errorf("resumed: %v\n%s", err, out)
	}
}

// check checks the created files and the logs.
func (s *teamEnv) check(all *session.Sessions) {
	t := s.t
	t.Helper()
	for file, want := range map[string]string{
		"greeting.txt": "hello", "name.txt": "world", "joined.txt": "hello\nworld", "ann.log": "ann", "bob.log": "bob", "eve.log": "eve",
	} {
		if got := s.git("show", "main:"+file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	commits := strings.Split(s.git("log", "--no-merges", "--format=%s", "main"), "\n")
	if slices.Sort(commits); !slices.Equal(commits, []string{"ann", "begin", "bob", "eve"}) {
		t.Errorf("the commits are %q", commits)
	}
	if n := s.done(t.Context(), all); n != 4 {
		t.Errorf("%d tasks are completed", n)
	}
	begun, err := all.Children(t.Context(), "lead")
	if err != nil || len(begun) != 3 {
		t.Fatalf("%d teammates: %v", len(begun), err)
	}
	ids := []string{"lead"}
	for _, b := range begun {
		ids = append(ids, b.ID)
	}
	sent, got := map[string]int{}, map[string]int{}
	for _, id := range ids {
		if r, err := all.Verify(t.Context(), id); err != nil || !r.OK() {
			t.Errorf("%s: %+v %v", id, r, err)
		}
		l, err := all.Load(t.Context(), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		var tr transcript.Transcript
		if err := tr.Append(l.Items...); err != nil || tr.Check() != nil || len(tr.OpenUses()) > 0 {
			t.Errorf("%s: calls without a result, or %v", id, err)
		}
		for _, e := range l.Items {
			for line := range strings.Lines(e.Text()) {
				if from, ok := strings.CutPrefix(strings.TrimSpace(line), "Message from "); ok && id == "lead" {
					got[strings.TrimSuffix(from, ":")]++
				}
			}
			if e.Role() == transcript.RoleTool && strings.Contains(string(e.JSON), "Sent to team-lead") {
				sent[id]++
			}
		}
	}
	for name, n := range got {
		if n != 1 {
			t.Errorf("the message of %s was delivered %d times", name, n)
		}
	}
	if len(got) != 3 {
		t.Errorf("messages came from %v", got)
	}
}

func TestTeamOfThree(t *testing.T) {
	s := newTeamEnv(t)
	all := (*session.Sessions)(nil)
	s.kill(func() bool {
		if _, err := os.Stat(filepath.Join(s.home, "sessions.db")); err != nil {
			return false
		}
		if all == nil {
			all = s.sessions()
		}
		return s.done(t.Context(), all) >= 1
	})
	s.resume(all)
	s.check(all)
	if testing.Verbose() {
		out, _ := s.command("sessions", "show", "lead").CombinedOutput()
		t.Logf("\n%s", out)
	}
}

// Whenever it is killed, the team reaches the same result.
func TestTeamKilledAtEveryRecord(t *testing.T) {
	n := 2
	if os.Getenv("HOLDFAST_HEAVY") != "" {
		n = 20
	}
	whole := newTeamEnv(t)
	began := time.Now()
	if err := whole.command(append(slices.Clone(whole.args), "build")...).Run(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := newTeamEnv(t)
			after := took/10 + rand.N(took)
			t.Logf("killed after %v", after)
			cmd := s.command(append(slices.Clone(s.args), "build")...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			if err := cmd.Wait(); err == nil {
				t.Log("it was faster")
			} else if _, err := os.Stat(filepath.Join(s.home, "sessions.db")); err != nil {
				t.Skip("it was killed before there was anything")
			}
			all := s.sessions()
			if m, err := all.Get(t.Context(), "lead"); err != nil || m.MessageCount == 0 {
				s.args = append(s.args, "build") // the signal came too late
			}
			s.resume(all)
			s.check(all)
		})
	}
}
