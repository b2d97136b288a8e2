package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// lines returns what the whole screen shows, without colors.
func (x *user) lines() []string {
	x.t.Helper()
	f := x.u.frame()
	if !f.whole || len(f.lines) != x.u.height {
		x.t.Fatalf("%d lines of %d, whole screen: %v", len(f.lines), x.u.height, f.whole)
	}
	return strings.Split(ansi.Strip(strings.Join(f.lines, "\n")), "\n")
}

func countTo(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "row %d, a line that is long enough to be wrapped in a narrow terminal\n\n", i+1)
	}
	return b.String()
}

func longPlay() string {
	return "steps:\n  - when: {user: go}\n    text: |\n" + indentText(countTo(30), "      ") + "  - when: {any: true}\n    text: short\n"
}

func indentText(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by) + "\n"
}

func TestFullscreen(t *testing.T) {
	x := talk(t, longPlay(), func(s *Start) { s.Screen.Fullscreen = true })
	x.u.width, x.u.height = 60, 20
	top := x.lines()
	if !strings.Contains(top[0], "Holdfast") || !strings.Contains(top[16], "──") {
		t.Errorf("the first frame is\n%s", strings.Join(top, "\n"))
	}
	x.says("go")
	x.until("model call")
	x.until("sandbox")
	has := func(want string) {
		t.Helper()
		if s := strings.Join(x.lines(), "\n"); !strings.Contains(s, want) {
			t.Errorf("%q is not on the screen:\n%s", want, s)
		}
	}
	press := func(k edit.Key) { x.u.key(k) }
	has("row 30")
	press(edit.Key{Name: "pgup"})
	has("more below")
	press(edit.Key{Name: "home"})
	has("Holdfast")
	press(edit.Key{Name: "down", Shift: true})
	if strings.Contains(x.lines()[0], "Holdfast") {
		t.Error("shift-down does not scroll")
	}
	x.u.wheel("up")
	has("Holdfast")
	x.u.note("something happens")
	x.u.note("and again")
	has("↓ 2 new lines")
	x.types("a")
	press(edit.Key{Name: "home"}) // in the box
	press(edit.Key{Name: "delete"})
	has("↓ 2 new lines")
	x.u.width = 100 // the answer is laid out again
	has("Holdfast")
	has("↓ 2 new lines")
	press(edit.Key{Name: "end"})
	has("and again")
	has("row 30, a line that is long enough to be wrapped in a narrow terminal")
	x.u.note("one more")
	has("one more") // it follows
	press(edit.Key{Name: "home"})
	x.says("next")
	has("and again") // a message goes to the end
	x.until("short")
	for x.u.conv.State().Working {
		x.step()
	}
	press(edit.Key{Code: 'o', Ctrl: true})
	has("conversation")
	press(edit.Key{Name: "esc"})

	x.u.leaving = true
	f := x.u.frame()
	if s := ansi.Strip(strings.Join(f.rows, "\n")); f.whole || len(f.rows) > x.u.height || !strings.Contains(s, "short") || strings.Contains(s, "row 3,") {
		t.Errorf("at the end, the normal screen gets %d rows:\n%s", len(f.rows), s)
	}
}

// /fullscreen shows what was printed before; back on the normal screen, only what is new is printed.
func TestToggleFullscreen(t *testing.T) {
	x := talk(t, longPlay(), nil)
	x.says("go")
	x.until("model call")
	x.until("sandbox")
	x.says("/fullscreen")
	x.u.key(edit.Key{Name: "home"})
	if s := x.lines(); !strings.Contains(s[0], "Holdfast") {
		t.Errorf("the past is not there:\n%s", strings.Join(s, "\n"))
	}
	x.u.note("new")
	x.lines()
	x.says("/fullscreen")
	f := x.u.frame()
	if s := ansi.Strip(strings.Join(f.rows, "\n")); f.whole || !strings.Contains(s, "new") || strings.Contains(s, "row 1") {
		t.Errorf("printed: %q", s)
	}
}

// An answer that streams is printed once, and is laid out again when it is finished.
func TestFullscreenStream(t *testing.T) {
	x := talk(t, "chunk: 20\ndelay: {chunk: 1ms}\n"+longPlay(), func(s *Start) { s.Screen.Fullscreen = true })
	x.u.width, x.u.height = 80, 200
	x.says("go")
	x.until("model call")
	s := strings.Join(x.lines(), "\n")
	for i := range 30 {
		if n := strings.Count(s, fmt.Sprintf("row %d,", i+1)); n != 1 {
			t.Errorf("row %d is there %d times", i+1, n)
		}
	}
}

// What a command shows is laid out again for another width.
func TestFullscreenContext(t *testing.T) {
	x := talk(t, "context: 200000\n"+strings.TrimPrefix(twoAnswers, "\nname: play\n"), func(s *Start) { s.Screen.Fullscreen = true })
	x.u.width, x.u.height = 100, 40
	x.says("hi")
	x.until("model call")
	x.says("/context")
	wide := x.until("system prompt")
	x.u.width = 50
	narrow := x.screen()
	row := func(s string) string { // the first row of cells
		_, after, _ := strings.Cut(s, "Context  ")
		_, after, _ = strings.Cut(after, "\n\n")
		return strings.Split(after, "\n")[0]
	}
	if len(row(wide)) <= len(row(narrow)) {
		t.Errorf("at 100 columns\n%s\nat 50 columns\n%s", wide, narrow)
	}
}
