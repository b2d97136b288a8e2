package chat

import (
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// user is a user at a conversation without a terminal. The daemon and the agent are real; the model is
// scripted.
type user struct {
	t    *testing.T
	u    *ui
	rows []string // the scrollback
}

// talk opens a conversation in a new home and project.
func talk(t *testing.T, play string, change func(*Start)) *user {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	script := filepath.Join(t.TempDir(), "play.yaml")
	if err := os.WriteFile(script, []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	return talkIn(t, home, dir, script, change)
}

func talkIn(t *testing.T, home, dir, script string, change func(*Start)) *user {
	t.Helper()
	p := &command.Program{
		Env:    []string{"HOME=" + home, "HOLDFAST_HOME=" + filepath.Join(home, ".holdfast"), "PATH=" + os.Getenv("PATH"), "USER=ann"},
		Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Stdin: strings.NewReader(""),
	}
	if script != "" {
		p.Env = append(p.Env, "HOLDFAST_MODEL=scripted/"+script)
	}
	p.SetDefaults()
	r := &flags.RunFlags{NoDaemon: true}
	r.CWD, r.NoSandbox = dir, true
	start := &Start{Run: r}
	if change != nil {
		change(start)
	}
	u, err := newUI(t.Context(), p, start)
	if err != nil {
		t.Fatal(err)
	}
	x := &user{t: t, u: u}
	t.Cleanup(u.close)
	u.begin(start)
	return x
}

// step handles one event, at most for a minute.
func (x *user) step() {
	x.t.Helper()
	select {
	case then := <-x.u.events:
		then()
	case then := <-x.u.done:
		then()
	case a := <-x.u.inbox.Answers():
		x.u.answered(a)
	case <-time.After(time.Minute):
		x.t.Fatalf("nothing happens; the screen is\n%s", x.screen())
	}
}

// settles waits until nothing runs outside of the loop, so that the test can change the program.
func (x *user) settles() {
	x.t.Helper()
	for x.u.pending > 0 {
		x.step()
	}
}

// screen returns what the terminal shows, without colors.
func (x *user) screen() string {
	f := x.u.frame()
	x.rows = append(x.rows, f.rows...)
	all := f.lines
	if !f.whole {
		all = append(append([]string(nil), x.rows...), f.lines...)
	}
	return ansi.Strip(strings.Join(all, "\n"))
}

// until waits for a text on the screen.
func (x *user) until(text string) string {
	x.t.Helper()
	for {
		if s := x.screen(); strings.Contains(s, text) {
			return s
		}
		x.step()
	}
}

func (x *user) types(text string) {
	for _, r := range text {
		x.u.key(edit.Key{Code: r, Text: string(r)})
	}
}

func (x *user) press(names ...string) {
	for _, n := range names {
		k := edit.Key{Name: n}
		if c, ok := strings.CutPrefix(n, "ctrl-"); ok {
			k = edit.Key{Code: rune(c[0]), Ctrl: true}
		}
		if n == "shift-tab" {
			k = edit.Key{Name: "tab", Shift: true}
		}
		x.u.key(k)
	}
}

func (x *user) says(text string) {
	x.types(text)
	x.press("enter")
}

// answers presses the key of an answer when the question with a text is shown. The guard of half a second is in real time.
func (x *user) answers(text, key string) {
	x.t.Helper()
	x.until(text)
	time.Sleep(600 * time.Millisecond)
	x.types(key)
}

const twoAnswers = `
name: play
steps:
  - text: "**Hello** to you."
  - text: And again.
`

func TestConversation(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.says("hi")
	s := x.until("Hello to you.")
	if !strings.Contains(s, "hi") {
		t.Errorf("the message is not shown:\n%s", s)
	}
	x.until("1 model call")
	x.says("and now?")
	x.until("And again.")
}

// What is typed before the session is open is sent when it is.
func TestEarlyMessage(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Prompt = "hi" })
	if s := x.screen(); !strings.Contains(s, "sending  hi") {
		t.Errorf("not shown as waiting:\n%s", s)
	}
	x.until("Hello to you.")
}

// Without a session, a message stays in the box, and the next try opens the session again.
func TestNotOpened(t *testing.T) {
	script := filepath.Join(t.TempDir(), "play.yaml")
	if err := os.WriteFile(script, []byte("steps: [{when: {any: true}}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := talkIn(t, t.TempDir(), t.TempDir(), script, func(s *Start) { s.Prompt = "hi there" })
	x.until("> hi there")
	if err := os.WriteFile(script, []byte(twoAnswers), 0o600); err != nil {
		t.Fatal(err)
	}
	x.press("enter")
	x.until("Hello to you.")
}

const writesFile = `
name: play
delay: {chunk: 1ms}
steps:
  - when: {user: "write"}
    text: I write it.
    tool_uses: [{tool: Write, input: {file_path: hello.txt, content: "hello\n"}}]
  - when: {user: "sleep"}
    text: I wait.
    tool_uses: [{tool: Bash, input: {command: "sleep 60"}}]
  - when: {tool: Write}
    text: It is written.
  - when: {any: true}
    text: All right.
`

// A question takes no answer for half a second, then one key answers it.
func TestQuestion(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	x.types("y") // too early: it goes into the box
	if s := x.screen(); !strings.Contains(s, "> y") {
		t.Fatalf("the key is not in the box:\n%s", s)
	}
	x.press("ctrl-u")
	x.screen()
	time.Sleep(600 * time.Millisecond) // the guard is in real time
	x.types("y")
	s := x.until("It is written.")
	for _, want := range []string{"Write  hello.txt", "+ hello"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
	if strings.Contains(s, "allowed") {
		t.Errorf("the user's own answer is repeated:\n%s", s)
	}
}

// A message that is sent while the agent works is queued, can be taken back, and reaches the model.
func TestQueue(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	x.press("ctrl-g")
	x.says("first")
	x.until("first  queued")
	x.says("second")
	x.until("second  queued")
	x.press("up")
	x.until("> second")
	x.until("first  queued · up")
	x.press("ctrl-u", "ctrl-g")
	x.screen()
	time.Sleep(600 * time.Millisecond)
	x.types("y")
	if s := x.until("2 model calls"); !strings.Contains(s, "▌ first") {
		t.Errorf("the message did not reach the model:\n%s", s)
	}
}

// After an interrupt, the queued messages are in the box, before what the user writes there.
func TestInterruptReturnsQueue(t *testing.T) {
	for _, key := range []string{"esc", "ctrl-c"} {
		x := talk(t, writesFile, nil)
		x.says("write it")
		x.until("allow once")
		x.press("ctrl-g")
		x.says("first")
		x.until("first  queued")
		x.says("second")
		x.until("second  queued")
		if key == "esc" {
			x.types("draft")
		}
		x.press(key)
		x.until("interrupted")
		s := x.until("> first")
		for strings.Contains(s, "queued") {
			x.step()
			s = x.screen()
		}
		if !strings.Contains(s, "> first\n  second") || key == "esc" && !strings.Contains(s, "  second\n  draft") {
			t.Errorf("the screen is\n%s", s)
		}
		x.press("enter")
		x.until("▌ first\n▌ second")
	}
}

func TestRewind(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.answers("allow once", "y")
	x.until("It is written.")
	x.until("2 model calls")
	file := filepath.Join(x.u.cwd, "hello.txt")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	x.press("esc", "esc")
	x.until("go back to before this message")
	x.press("enter")
	s := x.until("conversation and files")
	if !strings.Contains(s, "hello.txt") {
		t.Errorf("no preview of the files:\n%s", s)
	}
	x.press("enter")
	x.until("> write it")
	if s := x.until("the conversation was rewound"); strings.Contains(s, "the conversation continues before") {
		t.Errorf("it is said twice:\n%s", s)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
}

func TestSlash(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.says("hi")
	x.until("1 model call")
	x.types("/mo")
	s := x.screen()
	for _, want := range []string{"model", "mode ", "choose the model"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
	x.press("esc", "ctrl-u")
	x.says("/nothing")
	x.until("there is no command /nothing")
	x.press("ctrl-u")
	x.says("/help")
	x.until("commands and keys")
	x.types("G")
	x.until("Ctrl-D")
	x.types("q")
	x.press("shift-tab")
	x.until("acceptEdits")
	x.says("/rename a better title")
	x.until("the session is called a better title")
	x.says("/fork")
	x.until("session ")
	x.says("/clear")
	x.press("ctrl-d")
	if !x.u.leaving {
		t.Error("ctrl-d does not leave")
	}
}

// Another terminal that opens the session shows the same, and both see what either sends.
func TestAttach(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	other, err := newUI(t.Context(), x.u.p, &Start{Run: x.u.s.flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		other.s = nil // x closes it
		other.close()
	})
	other.s = x.u.s
	other.enter("")
	y := &user{t: t, u: other}
	y.answers("allow once", "y")
	y.until("It is written.")
	if s := x.until("It is written."); !strings.Contains(s, "answered by") {
		t.Errorf("the first terminal:\n%s", s)
	}
}

// /search finds what was said in any session, not only titles.
func TestSearchTranscripts(t *testing.T) {
	x := talk(t, "name: play\nsteps: [{text: The answer has a zebra in it.}, {text: Nothing here.}]", nil)
	x.says("hi")
	x.until("1 model call")
	x.says("/clear")
	x.until("a new session begins")
	x.says("/search zebra")
	x.until("found: zebra")
	x.press("enter")
	x.until("session ")
	x.says("/rename okapi")
	x.until("the session is called okapi")
	x.says("/search okapi")
	x.until("found: okapi")
	x.press("esc")
	x.says("/search giraffe")
	if s := x.until("nothing found for giraffe; all sessions"); !strings.Contains(s, "hi") {
		t.Errorf("the sessions are not offered:\n%s", s)
	}
}

// During a search in the history, the keys of the conversation are for the search, and a question does
// not take them.
func TestSearchKeys(t *testing.T) {
	x := talk(t, writesFile, nil)
	for _, text := range []string{"write it", "another message"} {
		if err := x.u.history.Add(t.Context(), edit.Entry{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	x.types("draft")
	for _, key := range []string{"ctrl-g", "ctrl-c"} {
		x.press("ctrl-r")
		x.types("write")
		x.until("> write it")
		x.press(key)
		x.until("> draft")
	}
	x.press("ctrl-u", "ctrl-r")
	x.types("wri")
	x.press("esc")
	x.until("> write it")
	x.press("ctrl-r")
	x.types("ano")
	x.press("ctrl-l") // is not for the search
	if s := x.until("> another message"); strings.Contains(s, "search history") {
		t.Errorf("the search goes on:\n%s", s)
	}
	x.press("ctrl-u")
	x.says("write it")
	x.press("ctrl-r")
	x.until("1 question waits")
	time.Sleep(600 * time.Millisecond) // the guard is in real time
	x.types("y")
	x.until("search history, no match: y")
	x.press("ctrl-g")
	x.until("allow once")
}

// /diff shows what is not committed, and /copy hands the newest answer to the terminal.
func TestDiffAndCopy(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", x.u.cwd, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v: %s", err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(x.u.cwd, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x.u.cli = func(ctx context.Context, args ...string) (string, error) { // without the program
		cmd := exec.CommandContext(ctx, "sh", "-c", args[len(args)-1])
		cmd.Dir = x.u.cwd
		b, err := cmd.Output()
		return string(b), err
	}
	git("init", "-q")
	write("a.txt", "one\ntwo\n")
	write("old.txt", "the same\n")
	write("run.sh", "exit\n")
	git("add", ".")
	git("commit", "-qm", "first")
	write("a.txt", "one\nthree\n")
	write("b.txt", "new\n")
	write("logo", "\x00\x01")
	git("mv", "old.txt", "renamed.txt")
	if err := os.Chmod(filepath.Join(x.u.cwd, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	git("add", "logo")
	x.says("hi")
	x.until("1 model call")
	x.says("/diff")
	s := x.until("three")
	for _, want := range []string{"a.txt", "- two", "+ three", "1 new file", "b.txt", "rename from old.txt", "Binary files /dev/null and b/logo differ", "new mode 100755"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
	x.types("q")
	x.says("/copy")
	x.until("copied 1 line")
	if want := base64.StdEncoding.EncodeToString([]byte("**Hello** to you.")); !strings.Contains(x.u.notify.take(), want) {
		t.Error("the answer is not copied")
	}
}
