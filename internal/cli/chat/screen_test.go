package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// opened waits until the session is open.
func (x *user) opened() {
	x.t.Helper()
	for x.u.opening {
		x.step()
	}
}

// In the plain form and on a terminal without a clipboard, nothing is copied, and nothing says so.
func TestPlainCopies(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Screen.Plain = true })
	x.says("hi")
	for x.u.answer != nil || len(x.u.blocks) < 2 {
		x.step()
	}
	x.says("/copy")
	if want := "this terminal cannot copy; /transcript shows the answer"; x.u.tip != want || x.u.notify.take() != "" {
		t.Errorf("%q", x.u.tip)
	}
}

// The model learns that it gets only the end of a long output.
func TestLongOutput(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.opened()
	for _, size := range []int{modelOutput - 1, modelOutput + 10, 3 * ownOutput} {
		own := &ownCommand{line: "cat", started: x.u.now()}
		for left := size; left > 0; left -= 1000 {
			_, _ = own.Write([]byte(strings.Repeat("é", min(left, 1000)/2)))
		}
		total := own.omitted() + len(own.text())
		x.u.context = nil
		x.u.shellEnded(own, nil)
		note := fmt.Sprintf("[… %d bytes before this are left out]\né", total-modelOutput)
		if got := x.u.context[0]; strings.Contains(got, "left out]") != (total > modelOutput) || total > modelOutput && !strings.Contains(got, note) {
			t.Errorf("%d bytes: %.200q", size, got)
		}
	}
}

// A text of several lines that begins like a heading is a message.
func TestHeadingIsMessage(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.u.box.Set(edit.Entry{Text: "# Title\n\nDo it."})
	x.press("enter")
	x.until("Hello to you.")
	if exists(x.u.memoryFile()) {
		t.Error("it is added to AGENTS.md")
	}
}

// Rows that the normal screen does not get after /fullscreen are counted.
func TestOmittedRows(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Screen.Fullscreen = true })
	x.opened()
	for range maxUnprinted {
		x.u.print("a row")
	}
	x.screen()
	for range 30 {
		x.u.print("a later row")
	}
	x.screen()
	x.says("/fullscreen")
	s := x.screen()
	if !strings.HasPrefix(s, "… ") || !strings.Contains(s[:60], " rows not printed here: /transcript") {
		t.Errorf("the screen begins with\n%.200s", s)
	}
	if x.rows = nil; strings.Contains(x.screen(), "not printed here") {
		t.Error("it is said again")
	}
}

// Every mode is explained, and the mode without questions is confirmed.
func TestConfirmMode(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.opened()
	x.says("/mode")
	for _, it := range x.u.picker.Matches() {
		if it.Detail == "" {
			t.Errorf("%s is not explained", it.Text)
		}
	}
	x.press("esc")
	for _, c := range []struct{ key, want string }{{"enter", "default"}, {"down", "bypassPermissions"}} {
		x.says("/mode bypassPermissions")
		x.until("allow everything without asking?")
		x.press(c.key, "enter")
		if got := string(x.u.currentMode()); got != c.want {
			t.Errorf("after %s: %s", c.key, got)
		}
		x.press("ctrl-u")
	}
}

// What the user always allows is said with its file, also after the question has gone.
func TestSavedIsSaid(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.answers("allow once", "p")
	x.until("choose the scope")
	x.types("1")
	x.until("settings.local.json")
	if x.until("It is written."); x.u.inbox.Len() > 0 {
		t.Error("the question is still there")
	}
}

// The skills are read when the session is opened, and not for each key.
func TestSkillsAreReadOnce(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	skill := func(name string) {
		folder := filepath.Join(home, ".holdfast", "skills", name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "SKILL.md"), "---\nname: "+name+"\ndescription: Do it.\n---\nDo it.\n")
	}
	skill("early")
	x := talkIn(t, home, dir, script, nil)
	x.opened()
	skill("late")
	var names []string
	for _, c := range x.u.s.Commands() {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, "early") || slices.Contains(names, "late") {
		t.Errorf("%q", names)
	}
}
