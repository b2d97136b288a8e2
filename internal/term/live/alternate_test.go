package live

import (
	"strings"
	"testing"
)

func TestAlternate(t *testing.T) {
	term := newTerminal(20, 4)
	s := newScreen(term)
	s.Print("finished")
	draw(t, s, &Position{2, 0}, "> draft")
	before := strings.Join(term.rows(), "\n")
	alternate := func(on bool) {
		t.Helper()
		if err := s.Alternate(on); err != nil {
			t.Fatal(err)
		}
	}
	alternate(true)
	alternate(true) // nothing
	s.Print("later")
	draw(t, s, nil, "one", "two", "three", "four", "five")
	if got := term.String(); !strings.Contains(got, "two") || strings.Contains(got, "draft") || strings.Contains(got, "later") {
		t.Errorf("alternate screen:\n%s", got)
	}
	draw(t, s, &Position{1, 1}, "ONE", "two")
	if got := strings.Fields(term.String()); strings.Join(got, " ") != "ONE two" {
		t.Errorf("alternate screen: %q", got)
	}
	alternate(false)
	if got := strings.Join(term.rows(), "\n"); got != before {
		t.Errorf("normal screen:\n%s\nbefore:\n%s", got, before)
	}
	draw(t, s, &Position{2, 0}, "> draft")
	same(t, term, "finished", "later", "> draft")

	alternate(true)
	draw(t, s, nil, "page")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.inline != nil || !strings.HasPrefix(strings.Join(term.rows(), "\n"), "finished\nlater") {
		t.Errorf("after Close:\n%s", strings.Join(term.rows(), "\n"))
	}
	if pos := term.CursorPosition(); pos.X != 0 || pos.Y != 2 {
		t.Errorf("the cursor is at %v", pos)
	}
}

// The cursor is as visible as each screen wants it.
func TestAlternateCursor(t *testing.T) {
	for _, inline := range []*Position{nil, {}} {
		for _, page := range []*Position{nil, {}} {
			var w strings.Builder
			s := New(&w, nil)
			_ = s.Draw([]string{"a"}, inline)
			_ = s.Alternate(true)
			_ = s.Draw([]string{"b"}, page)
			_ = s.Alternate(false)
			_ = s.Draw([]string{"a"}, inline)
			hidden := strings.LastIndex(w.String(), "\x1b[?25l") > strings.LastIndex(w.String(), "\x1b[?25h")
			if hidden != (inline == nil) {
				t.Errorf("inline %v, page %v: hidden = %v: %q", inline, page, hidden, w.String())
			}
		}
	}
}
