package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Thinking is printed before the answer, also if rows of the answer are printed before it is complete.
func TestThinkingComesFirst(t *testing.T) {
	x := talk(t, `{chunk: 5, steps: [{thinking: I think first., text: "One.\n\nTwo.\n\nThree."}]}`, nil)
	x.says("hello")
	s := x.until("── ")
	if strings.Count(s, "I think first.") != 1 || strings.Index(s, "I think first.") > strings.Index(s, "One.") {
		t.Errorf("the screen is\n%s", s)
	}
}

// The completion that is typed whole is the first one.
func TestWholeCommand(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	for _, c := range slashCommands() {
		x.types("/" + c.name)
		if it, ok := x.u.popup.Selected(); !ok || it.Value != "/"+c.name {
			t.Errorf("/%s chooses %+v", c.name, it)
		}
		x.press("ctrl-u")
	}
	x.says("/mode") // before the session is open
	x.until("ask before changes and commands")
}

// Ctrl-G leads to the question although the box has text, which stays.
func TestAnswerBeforeText(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	x.types("my draft") // in the first half second
	x.until("> my draft")
	x.press("ctrl-g")
	x.answers("allow once", "y")
	if s := x.until("It is written."); !strings.Contains(s, "> my draft") {
		t.Errorf("the screen is\n%s", s)
	}
}

// A mode that the agent or another client sets replaces the chosen one on the status line.
func TestModeOfPlan(t *testing.T) {
	x := talk(t, `
steps:
  - tool_uses: [{tool: ExitPlanMode, input: {plan: Do it.}}]
  - text: I do it.
`, nil)
	x.says("/plan think about it")
	x.answers("allow, ask before each change", "y")
	x.until("I do it.")
	if s := x.until("── "); !strings.Contains(s, "default · play") {
		t.Errorf("the mode is not default:\n%s", s)
	}
}

// Ctrl-C ends the user's own command, which is shown while it runs.
func TestEndOwnCommand(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	x.until("no daemon")
	ended := 0
	x.u.own = &ownCommand{line: "make all", started: x.u.now(), cancel: func() { ended++ }, out: []byte("first\nlast line\n")}
	if s := x.screen(); !strings.Contains(s, "make all") || !strings.Contains(s, "last line") {
		t.Errorf("the screen is\n%s", s)
	}
	x.press("ctrl-c")
	if ended != 1 || x.u.leaving {
		t.Errorf("ended %d times", ended)
	}
}

// A fork does not print the conversation again, and an old answer is no news.
func TestForkIsQuiet(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.answers("allow once", "y")
	x.until("── ")
	x.says("/fork")
	x.until("a copy of ")
	for !x.u.conv.State().CaughtUp {
		x.step()
	}
	s := x.screen()
	if strings.Count(s, "I write it.") != 1 || strings.Contains(s, "answered by") {
		t.Errorf("the screen is\n%s", s)
	}
	if len(x.u.blocks) < 4 {
		t.Error("ctrl-o shows nothing")
	}
}

// A page takes pasted text as what it searches for.
func TestPasteInPage(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	x.says("a question")
	x.until("Hello.")
	x.press("ctrl-o")
	x.types("/")
	x.u.paste("needle")
	if s := x.screen(); !strings.Contains(s, "needle") {
		t.Errorf("the screen is\n%s", s)
	}
	x.press("esc", "esc")
}

func TestFolded(t *testing.T) {
	for text, want := range map[string]string{
		"  /a     what it does in words": "  /a     what it|         does in|         words",
		"words that are longer":          "words that are|longer",
		"  indented words, longer":       "  indented|  words, longer",
		"short  line":                    "short  line",
		"\n\nx\n":                        "||x",
		"  /a     日本語日本語日本語":             "  /a     日本語|         日本語|         日本語",
		"0123456789012345678":            "0123456789012345|678",
	} {
		if got := strings.Join(folded(text, 16), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A wrong model is repaired with /model, and the message that could not be sent is still in the box.
func TestModelAfterError(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", func(s *Start) { s.Run.Model = "nosuch/model" })
	x.until("unknown provider")
	x.says("my message")
	if s := x.until("> my message"); strings.Count(s, "hint: the providers") != 1 {
		t.Errorf("the error is repeated:\n%s", s)
	}
	x.press("ctrl-u")
	x.says("/model " + x.u.p.Getenv("HOLDFAST_MODEL"))
	x.until("no daemon")
	x.says("my message")
	x.until("Hello.")
}

// Enter sends a message that ends with the whole name of a file.
func TestWholeFile(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	if err := os.WriteFile(filepath.Join(x.u.cwd, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.types("look at @main.go")
	for x.u.popup == nil {
		x.step()
	}
	x.press("enter")
	x.until("Hello.")
}

// A file that was made after the first @ is offered too.
func TestNewFile(t *testing.T) {
	x := talk(t, "steps: [{text: Hello.}]", nil)
	for _, name := range []string{"old.go", "new.go"} {
		if err := os.WriteFile(filepath.Join(x.u.cwd, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		x.types("@" + name[:3])
		x.until("❯ " + name)
		x.press("esc", "ctrl-u")
	}
}

// Shift-Tab pressed several times at once sets the last mode, and no mode is announced.
func TestRapidModes(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.says("hi")
	x.until("1 model call")
	x.press("shift-tab", "shift-tab", "shift-tab", "shift-tab", "shift-tab")
	for len(x.u.modes) > 0 || x.u.pending > 0 {
		x.step()
	}
	x.says("and now?")
	x.until("And again.")
	for x.u.conv.State().Working || len(x.u.waiting) > 0 {
		x.step()
	}
	s := x.screen()
	if mode, err := x.u.s.Mode(t.Context()); mode != policy.ModePlan || err != nil || !strings.Contains(s, "plan · ") || strings.Contains(s, "mode changed") {
		t.Errorf("%s %v\n%s", mode, err, s)
	}
}

// That a provider refuses to answer is said once.
func TestRefusal(t *testing.T) {
	x := talk(t, "steps: [{text: No., finish: refusal}]", nil)
	x.says("hi")
	if s := x.until("1 model call"); strings.Count(s, "refused") != 1 {
		t.Errorf("the screen is\n%s", s)
	}
}

// A notice about a question that was withdrawn disappears without an event.
func TestNoticeEnds(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	x.press("ctrl-g", "esc")
	x.until("interrupted")
	s := x.until("is withdrawn")
	if at := x.u.nextChange(x.u.now()); at.IsZero() || at.After(x.u.now().Add(time.Minute)) {
		t.Errorf("the next frame is at %v:\n%s", at, s)
	}
}
