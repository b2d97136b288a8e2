package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/runspec"
)

// waitingPlay asks for a command, and then answers.
const waitingPlay = `steps:
  - {when: {user: go}, tool_uses: [{id: u1, tool: Bash, input: {command: touch made}}]}
  - {text: the end of it}
`

// In the daemon: ps shows who needs an answer, logs -f follows until the end, and stop stops.
func TestRunsOfDaemon(t *testing.T) {
	dir := shortDir(t)
	write(t, dir, "play.yaml", waitingPlay)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	d, _ := serve(t, dir, env)
	ctx := t.Context()
	for _, stops := range []bool{false, true} {
		run, err := d.Start(ctx, runspec.Spec{Cwd: dir, Prompt: "go", Model: "scripted/" + dir + "/play.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { r, err := d.Run(ctx, run.ID()); return err == nil && r.Status == api.StatusWaiting })
		list, out, _ := newProgram(dir, env, "ps")
		if code := Run(ctx, list); code != 0 || !strings.Contains(out.String(), "needs you") || !strings.Contains(out.String(), ": Bash") {
			t.Errorf("%d: %s", code, out)
		}
		logs, text, errs := newProgram(dir, env, "logs", "-f", run.ID()[len(run.ID())-8:])
		code := make(chan int, 1)
		go func() { code <- Run(ctx, logs) }()
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(text.String(), "? approval "); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s\n%s\n%s", out, text, errs)
			}
		}
		if stops {
			stop, _, said := newProgram(dir, env, "stop", run.ID()[len(run.ID())-8:])
			if code := Run(ctx, stop); code != 0 || !strings.HasPrefix(said.String(), "stopped session "+run.ID()+": kept ") {
				t.Errorf("%d: %s", code, said)
			}
		} else {
			open, err := d.Approvals(ctx, client.ListOptions{})
			if err != nil || len(open.Items) != 1 {
				t.Fatalf("%+v: %v", open, err)
			}
			if _, err := d.Decide(ctx, open.Items[0].ID, api.Decision{Decision: "allow", Digest: open.Items[0].Digest}); err != nil {
				t.Fatal(err)
			}
		}
		if n := <-code; n != 0 {
			t.Errorf("logs -f ends with %d: %s", n, errs)
		}
		if strings.Contains(text.String(), "the end of it") == stops || !strings.Contains(text.String(), "> go\n") {
			t.Errorf("stopped %v: %s", stops, text)
		}
	}
}

// Without a daemon: logs -f follows a run of another process until that process ends; Ctrl-C ends
// only logs. stop interrupts such a run.
func TestRunsOfOtherProcess(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	run := startTerminalProcess(t, env, dir, "run", "--session-id", "there", "go")
	run.expect(`touch made`)
	run.expect(`y`)
	list := startTerminalProcess(t, env, dir, "ps", "--watch")
	list.expect(`ther.*needs you \d+s: Ba`)
	list.press("\x03")
	if n := list.exit(); n != 0 {
		t.Errorf("ps --watch ends with %d: %s", n, list.screen())
	}
	left := startTerminalProcess(t, env, dir, "logs", "-f", "there")
	left.expect(`\? approval 01`)
	left.press("\x03")
	if n := left.exit(); n != 0 {
		t.Errorf("logs -f ends with %d: %s", n, left.screen())
	}
	logs := startTerminalProcess(t, env, dir, "logs", "-f", "there")
	logs.expect(`> go`)
	logs.expect(`\? approval 01`)
	run.press("y")
	if n := run.exit(); n != 0 {
		t.Errorf("the run ends with %d: %s", n, run.screen())
	}
	logs.expect(`it ended`)
	if n := logs.exit(); n != 0 {
		t.Errorf("logs -f ends with %d: %s", n, logs.screen())
	}
	again := startTerminalProcess(t, env, dir, "run", "--session-id", "again", "go")
	again.expect(`and stop: `)
	stop := startTerminalProcess(t, env, dir, "stop", "again")
	if n := stop.exit(); n != 0 {
		t.Errorf("stop ends with %d: %s", n, stop.screen())
	}
	stop.expect(`stopped session agai: kept \d items`)
	if n := again.exit(); n != outcome.Interrupted.Exit {
		t.Errorf("the run that was stopped ends with %d: %s", n, again.screen())
	}
}

// stop interrupts only what it knows to be holdfast run.
func TestStopOtherProgram(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	held := startTerminal(t, env, dir, "run", "--session-id", "held", "go") // in the process of this test
	held.expect(`and stop: `)
	for range 2 {
		stop, _, said := newProgram(dir, env, "stop", "held")
		if code := Run(t.Context(), stop); code != outcome.Busy.Exit || !strings.Contains(said.String(), "hint: press Ctrl-C in its terminal, or end process ") {
			t.Errorf("%d: %s", code, said)
		}
	}
	held.press("n")
	if n := held.exit(); n != 0 {
		t.Errorf("the run ends with %d: %s", n, held.screen())
	}
}

// A conversation without a daemon has its run itself: stop says where to stop it.
func TestStopConversation(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	talk := startTerminalProcess(t, env, dir, "--no-daemon", "--session-id", "here", "go on")
	talk.expect(`1 question waits`)
	stop := startTerminalProcess(t, env, dir, "stop", "here")
	stop.expect(`runs in a conversation without a daemon`)
	stop.expect(`stop it in its terminal: Esc`)
	if n := stop.exit(); n != outcome.Busy.Exit {
		t.Errorf("stop ends with %d: %s", n, stop.screen())
	}
}

// At 80 and at 60 columns no line is wider than the terminal, and escape sequences and wide
// characters of a title do no harm.
func TestListsFitTerminal(t *testing.T) {
	dir, env := scriptedFolder(t, "steps:\n  - text: done\n")
	file := filepath.Join(t.TempDir(), "a-model-with-a-very-long-name-indeed.yaml")
	if err := os.WriteFile(file, []byte("steps:\n  - text: done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "--name", "日本語の長い題名を持つセッションはここで切られる、きっと、そうでなければならない", "go"},
		{"run", "--model", "scripted/" + file, "--name", "\x1b]0;owned\a\x1b[2J" + strings.Repeat("long ", 40), "go"},
	} {
		p, _, errs := newProgram(dir, env, args...)
		if code := Run(t.Context(), p); code != 0 {
			t.Fatal(errs)
		}
	}
	for _, columns := range []uint16{80, 60} {
		for _, args := range [][]string{{"ps"}, {"sessions", "list"}, {"stats"}} {
			c := startSized(t, columns, env, dir, args...)
			if code := c.exit(); code != 0 {
				t.Errorf("%q ends with %d", args, code)
			}
			screen := c.screen()
			if strings.Contains(screen, "\x1b]") || strings.Contains(screen, "\x1b[2J") {
				t.Errorf("%q prints an escape sequence of a title: %q", args, screen)
			}
			for line := range strings.Lines(screen) {
				if n := term.Width(strings.TrimRight(line, "\n")); n > int(columns) && !(args[0] == "sessions" && columns == 60) {
					t.Errorf("%q: %d columns of %d: %q", args, n, columns, line)
				}
			}
			t.Log(screen)
		}
	}
}

// startSized is startTerminal with a terminal of so many columns.
func startSized(t *testing.T, columns uint16, env []string, dir string, args ...string) *terminal {
	t.Helper()
	return startTerminalWith(t, &unix.Winsize{Row: 24, Col: columns}, "", env, dir, args...)
}

// At a terminal, lists print short ids, and every command takes them: those of approvals begin with
// a time and are shortened to their end.
func TestShortIDs(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	for range 2 {
		p, _, errs := newProgram(dir, env, "run", "--on-ask", "fail", "go")
		if code := Run(t.Context(), p); code != 4 {
			t.Fatalf("%d: %s", code, errs)
		}
	}
	c := startTerminal(t, env, dir, "approvals", "list")
	if code := c.exit(); code != 0 {
		t.Fatal(c.screen())
	}
	c.expect(`(.*\n){3}`) // the terminal hands on what was written a moment later
	rows := strings.Split(c.screen(), "\n")
	for _, row := range rows[1:3] {
		cells := strings.Fields(row)
		id, in := cells[0], cells[len(cells)-1]
		if len(id) > 6 || len(in) > 6 {
			t.Errorf("the ids are long: %q", row)
		}
		for _, args := range [][]string{{"approvals", "show", id}, {"logs", in}, {"sessions", "show", in}} {
			p, _, errs := newProgram(dir, env, args...)
			if code := Run(t.Context(), p); code != 0 {
				t.Errorf("%q ends with %d: %s", args, code, errs)
			}
		}
	}
	p, out, _ := newProgram(dir, env, "approvals", "list")
	if code := Run(t.Context(), p); code != 0 || len(strings.Fields(strings.Split(out.String(), "\n")[1])[0]) != 26 {
		t.Errorf("a pipe gets short ids: %d: %s", code, out)
	}
}

// ps says so if the daemon serves another store.
func TestPsOtherStore(t *testing.T) {
	dir := shortDir(t)
	env := environ(dir)
	serve(t, dir, env)
	p, _, errs := newProgram(dir, env, "ps", "--store", "file:"+filepath.Join(dir, "other"))
	if code := Run(t.Context(), p); code != 0 || !strings.Contains(errs.String(), "the daemon serves another store, ") {
		t.Errorf("%d: %s", code, errs)
	}
}
