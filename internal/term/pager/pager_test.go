package pager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// fill breaks text into lines of a width.
func fill(text string) func(int) []string {
	return func(width int) (lines []string) {
		for l := range strings.SplitSeq(text, "\n") {
			lines = append(lines, strings.Split(ansi.Hardwrap(l, width, true), "\n")...)
		}
		return lines
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// press presses named keys and characters, separated by spaces.
func press(p *Pager, keys string) (r Result) {
	for k := range strings.FieldsSeq(keys) {
		switch c, ctrl := strings.CutPrefix(k, "ctrl+"); {
		case ctrl:
			r = p.Press(edit.Key{Code: rune(c[0]), Ctrl: true})
		case k == "space":
			r = p.Press(edit.Key{Code: ' ', Text: " ", Name: k})
		case len(k) == 1:
			r = p.Press(edit.Key{Code: rune(k[0]), Text: k})
		default:
			r = p.Press(edit.Key{Name: k})
		}
	}
	return r
}

// page returns the lines without the status line, without styles and spaces at the end.
func page(p *Pager, width, height int) string {
	lines, _, _ := p.View(width, height)
	lines = lines[:len(lines)-1]
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "|")
}

func TestScroll(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"", "line 0|line 1|line 2"},
		{"j j down up", "line 2|line 3|line 4"},
		{"k", "line 0|line 1|line 2"},
		{"space", "line 2|line 3|line 4"},
		{"pgdown f b", "line 2|line 3|line 4"},
		{"G", "line 17|line 18|line 19"},
		{"end pgup", "line 15|line 16|line 17"},
		{"G j g", "line 0|line 1|line 2"},
		{"d d u", "line 1|line 2|line 3"},
		{"ctrl+d ctrl+u ctrl+f", "line 2|line 3|line 4"},
	} {
		p := New(&Options{Sections: []Section{{Lines: fill(numbered(20))}}})
		page(p, 40, 4)
		press(p, tt.keys)
		if got := page(p, 40, 4); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.keys, got, tt.want)
		}
	}
	p := New(nil)
	page(p, 40, 4)
	for key, want := range map[string]Result{"q": Closed, "esc": Closed, "ctrl+c": Closed, "o": Open, "x": Ignored, "f1": Ignored, "enter": Handled, "n": Handled} {
		if got := press(p, key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

func sections() []Section {
	return []Section{
		{Lines: fill("start")},
		{ID: "a", Title: "Read", Folded: true, Lines: fill("secret\nother")},
		{ID: "b", Title: "Bash", Lines: fill("one\ntwo")},
		{ID: "c", Title: "Edit", Folded: true, Lines: fill("three\nFOUR")},
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"", "start|▸ Read|▾ Bash|one|two|▸ Edit||"},
		{"enter", "start|▾ Read|secret|other|▾ Bash|one|two|▸ Edit"},
		{"enter tab", "start|▸ Read|▾ Bash|one|two|▸ Edit||"},
		{"] enter", "start|▸ Read|▸ Bash|▸ Edit||||"},
		{"] ] enter", "start|▸ Read|▾ Bash|one|two|▾ Edit|three|FOUR"},
		{"] ] ] [ enter", "start|▸ Read|▸ Bash|▸ Edit||||"},
		{"e", "start|▾ Read|secret|other|▾ Bash|one|two|▾ Edit"},
		{"e e", "start|▸ Read|▸ Bash|▸ Edit||||"},
	} {
		p := New(&Options{Sections: sections()})
		page(p, 40, 9)
		press(p, tt.keys)
		if got := page(p, 40, 9); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.keys, got, tt.want)
		}
	}
	// A section whose title is above the screen can be folded too.
	p := New(&Options{Sections: []Section{{Title: "Long", Lines: fill(numbered(50))}, {Lines: fill("end")}}})
	page(p, 40, 4)
	press(p, "space space")
	press(p, "enter")
	if got := page(p, 40, 4); got != "▸ Long|end|" {
		t.Errorf("folded: %s", got)
	}
}

func TestFind(t *testing.T) {
	for _, tt := range []struct{ keys, want, notice string }{
		{"/ o n e enter", "▾ Bash|one|two", ""},
		{"/ s e c r e t enter", "start|▾ Read|secret", ""}, // in a folded section
		{"/ t enter", "start|▸ Read|▾ Bash", ""},
		{"/ t enter n n n", "one|two|▸ Edit", ""},
		{"/ t enter N", "▾ Edit|three|FOUR", "search wrapped"},
		{"/ f o u r enter", "▾ Edit|three|FOUR", ""},
		{"/ F o u r enter", "start|▸ Read|▾ Bash", "not found: Four"},
		{"/ z esc", "start|▸ Read|▾ Bash", ""},
		{"/ z backspace backspace", "start|▸ Read|▾ Bash", ""},
		{"/ t h r e e enter g / enter", "▾ Edit|three|FOUR", ""},
	} {
		p := New(&Options{Sections: sections()})
		page(p, 40, 4)
		press(p, tt.keys)
		if got := page(p, 40, 4); got != tt.want || p.notice != tt.notice {
			t.Errorf("%q: %s, %q, want %s, %q", tt.keys, got, p.notice, tt.want, tt.notice)
		}
	}
}

func TestMark(t *testing.T) {
	for _, tt := range []struct{ query, line, want string }{
		{"x", "axbx", "a\x1b[7mx\x1b[27mb\x1b[7mx\x1b[27m"},
		{"lo w", "hel\x1b[31mlo\x1b[m world", "hel\x1b[7m\x1b[31m\x1b[7mlo\x1b[m\x1b[7m w\x1b[27morld"},
		{"é", "caf\x1b[1mÉ\x1b[mx", "caf\x1b[7m\x1b[1m\x1b[7mÉ\x1b[27m\x1b[mx"},
		{"b", "\x1b]8;;http://b\x1b\\ab\x1b]8;;\x1b\\", "\x1b]8;;http://b\x1b\\a\x1b[7mb\x1b[27m\x1b]8;;\x1b\\"},
		{"日", "本日本", "本\x1b[7m日\x1b[27m本"},
	} {
		p := New(nil)
		p.search(tt.query)
		if got := p.mark(tt.line); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.query, tt.line, got, tt.want)
		}
	}
}

func TestFollow(t *testing.T) {
	lines := func(n int) []Section { return []Section{{Lines: fill(numbered(n)), Version: n}} }
	p := New(&Options{Sections: lines(10), End: true})
	check := func(want string) {
		t.Helper()
		if got := page(p, 40, 4); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("line 7|line 8|line 9")
	p.Set(lines(12))
	check("line 9|line 10|line 11")
	press(p, "k")
	p.Set(lines(20))
	check("line 8|line 9|line 10")
	press(p, "G")
	p.Set(lines(30))
	check("line 27|line 28|line 29")
	p.Set(nil)
	check("||")
}

func TestReflow(t *testing.T) {
	text := strings.Repeat("abcdefghij", 100)
	p := New(&Options{Sections: []Section{{Lines: fill("head\n" + text)}, {ID: "x", Title: "Next", Lines: fill(numbered(40))}}})
	page(p, 20, 11)
	p.show(p.parts[1].start + 13)
	p.top = p.parts[1].start + 13
	if got := page(p, 20, 11); !strings.HasPrefix(got, "line 12|") {
		t.Fatalf("before: %s", got)
	}
	for _, size := range [][2]int{{50, 11}, {10, 7}, {20, 11}} {
		if got := page(p, size[0], size[1]); !strings.HasPrefix(got, "line 12|") {
			t.Errorf("%v: %s", size, got)
		}
	}
}

func TestStatus(t *testing.T) {
	p := New(&Options{Title: "evil\x1b[31m", Sections: sections()})
	lines, row, _ := p.View(80, 4)
	if got, want := ansi.Strip(lines[3]), ` evil\x1b[31m  q close  / find  enter fold  e fold all      line 3 of 6  0% `; strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") || row != -1 {
		t.Errorf("%q, want %q", got, want)
	}
	press(p, "/ a b")
	lines, row, col := p.View(80, 4)
	if lines[3] != "/ab" || row != 3 || col != 3 {
		t.Errorf("%q, cursor at %d, %d", lines[3], row, col)
	}
	if want := "start\nRead\nsecret\nother\nBash\none\ntwo\nEdit\nthree\nFOUR\n"; p.Text() != want {
		t.Errorf("%q", p.Text())
	}
}

// Whatever happens, the view has its height, fits, and the focus is on the screen.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func() (out []Section) {
			for i := range rapid.IntRange(0, 6).Draw(t, "sections") {
				s := Section{Title: rapid.SampledFrom([]string{"", "Title", "\x1b[1mbold\x1b[m"}).Draw(t, "title"), Folded: rapid.Bool().Draw(t, "folded")}
				s.ID = rapid.SampledFrom([]string{"", fmt.Sprint(i), fmt.Sprint(i + 1)}).Draw(t, "id")
				s.Version = rapid.IntRange(0, 2).Draw(t, "version")
				if n := rapid.IntRange(0, 30).Draw(t, "lines"); n > 0 {
					s.Lines = fill(numbered(n))
				}
				out = append(out, s)
			}
			return out
		}
		p := New(&Options{Sections: some(), End: rapid.Bool().Draw(t, "end")})
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				p.Set(some())
			case 1:
				p.Paste(rapid.String().Draw(t, "paste"))
			default:
				press(p, rapid.SampledFrom([]string{"j", "k", "space", "b", "g", "G", "enter", "e", "]", "[", "/", "1", "n", "N", "esc", "d", "u"}).Draw(t, "key"))
			}
			width, height := rapid.IntRange(10, 60).Draw(t, "width"), rapid.IntRange(2, 12).Draw(t, "height")
			lines, row, col := p.View(width, height)
			if len(lines) != height || row >= height || col > width {
				t.Fatalf("%d lines in %d×%d, cursor at %d, %d", len(lines), width, height, row, col)
			}
			if i := slices.IndexFunc(lines, func(l string) bool { return ansi.StringWidth(l) > width }); i >= 0 {
				t.Fatalf("%q is wider than %d", lines[i], width)
			}
			if p.top < 0 || p.top > max(0, p.rows-p.height) || p.focus >= len(p.parts) {
				t.Fatalf("top %d of %d, focus %d", p.top, p.rows, p.focus)
			}
			if p.focus >= 0 && p.parts[p.focus].Title == "" {
				t.Fatal("the focus is on a section without title")
			}
		}
	})
}

func BenchmarkLongPage(b *testing.B) {
	var all []Section
	for i := range 1000 {
		text := strings.Split(strings.ReplaceAll(numbered(100), "line", "\x1b[32mline\x1b[m of a long page, with some text"), "\n")
		all = append(all, Section{ID: fmt.Sprint(i), Title: "Section", Lines: func(int) []string { return text }})
	}
	p := New(&Options{Sections: all})
	p.View(80, 24)
	for _, keys := range []string{"j", "space", "G", "g", "enter", "]", "/ z z enter", "e"} {
		b.Run(strings.ReplaceAll(keys, " ", ""), func(b *testing.B) {
			for b.Loop() {
				press(p, keys)
				p.View(80, 24)
			}
		})
	}
	b.Run("Set", func(b *testing.B) {
		fastest := time.Hour
		for b.Loop() {
			start := time.Now()
			p.Set(all)
			p.View(80, 24)
			fastest = min(fastest, time.Since(start))
		}
		b.ReportMetric(float64(fastest.Microseconds()), "us-fastest")
	})
}

// The end is visible when no row is below the screen, also if the page does not fill it.
func TestAtEnd(t *testing.T) {
	p := New(&Options{Sections: []Section{{Lines: fill(numbered(3))}}})
	page(p, 40, 4)
	if !p.AtEnd() || p.Rows() != 3 {
		t.Error("three rows fit")
	}
	p.Set([]Section{{Lines: fill(numbered(20)), Version: 1}})
	page(p, 40, 4)
	if p.AtEnd() || p.Rows() != 20 {
		t.Error("20 rows do not fit")
	}
	press(p, "end")
	if !p.AtEnd() {
		t.Error("end does not go there")
	}
}
