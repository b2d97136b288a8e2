package live

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// terminal is an emulated terminal that counts what it receives. It does not wrap old rows again
// when its width changes.
type terminal struct {
	*vt.Emulator
	last []byte // the bytes of the last frame
	all  int
}

func newTerminal(width, height int) *terminal {
	t := &terminal{Emulator: vt.NewEmulator(width, height)}
	return t
}

func (t *terminal) Write(b []byte) (int, error) {
	t.last = bytes.Clone(b)
	t.all += len(b)
	return t.Emulator.Write(b)
}

// rows returns the scrollback and the screen, without blank rows at the end.
func (t *terminal) rows() []string {
	var out []string
	for y := range t.ScrollbackLen() {
		var b strings.Builder
		for _, c := range t.Scrollback().Line(y) {
			b.WriteString(c.Content)
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	for l := range strings.SplitSeq(t.String(), "\n") {
		out = append(out, strings.TrimRight(l, " "))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

var noReflow = []string{"TERM=xterm-256color", "XTERM_VERSION=XTerm(390)", "COLORTERM=truecolor"}

func newScreen(t *terminal) *Screen {
	return New(t, &Options{Width: t.Width(), Height: t.Height(), Env: noReflow})
}

func draw(t testing.TB, s *Screen, cursor *Position, lines ...string) {
	t.Helper()
	if err := s.Draw(lines, cursor); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, term *terminal, want ...string) {
	t.Helper()
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if got := term.rows(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("terminal:\n%s\nwant:\n%s\nlast frame: %q", strings.Join(got, "\n"), strings.Join(want, "\n"), term.last)
	}
}

func TestDraw(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}, {20, 4}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			term := newTerminal(size[0], size[1])
			s := newScreen(term)
			draw(t, s, &Position{2, 1}, "hello", "> ")
			same(t, term, "hello", ">")
			draw(t, s, &Position{3, 1}, "hello \x1b[1mworld\x1b[m", "> x")
			same(t, term, "hello world", "> x")
			s.Print("one", "two 日本")
			draw(t, s, &Position{3, 1}, "answer", "> x")
			same(t, term, "one", "two 日本", "answer", "> x")
			s.Print("answer")
			draw(t, s, &Position{3, 0}, "> x")
			same(t, term, "one", "two 日本", "answer", "> x")
			if p := term.CursorPosition(); p.X != 3 || p.Y != 3 || term.CursorHidden() {
				t.Errorf("cursor at %v, hidden %v", p, term.CursorHidden())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			same(t, term, "one", "two 日本", "answer")
			if p := term.CursorPosition(); p.X != 0 || p.Y != 3 {
				t.Errorf("cursor at %v after Close", p)
			}
			draw(t, s, nil, "again")
			same(t, term, "one", "two 日本", "answer", "again")
			if !term.CursorHidden() {
				t.Error("the cursor is shown without a position")
			}
		})
	}
}

func TestCut(t *testing.T) {
	term := newTerminal(10, 4)
	s := newScreen(term)
	draw(t, s, &Position{0, 5}, "1", "2", "3 is much too long", "4", "日本日本日本", "6")
	same(t, term, "3 is much", "4", "日本日本日", "6")
	s.Print("printed rows are wrapped", "done")
	draw(t, s, nil, "live, and cut")
	same(t, term, "printed ro", "ws are wra", "pped", "done", "live, and")
}

func TestControlSequencesAreDropped(t *testing.T) {
	term := newTerminal(40, 5)
	s := newScreen(term)
	s.Print("a\x1b[2Jb\x1b]0;title\ac\x1b[5;5Hd\re\x07", "\x1bc\x1bP1$r\x1b\\x\u009b2Jy")
	draw(t, s, nil, "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[31mred", "tab\tx")
	same(t, term, "abcde", "x2Jy", "link red", "tab     x")
	for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x07", "\x1bc", "\x1bP", "\u009b", "\x1b[5;5H"} {
		if bytes.Contains(term.last, []byte(bad)) {
			t.Errorf("%q reached the terminal in %q", bad, term.last)
		}
	}
	for _, good := range []string{"\x1b]8;;http://x", "\x1b[31m"} {
		if !bytes.Contains(term.last, []byte(good)) {
			t.Errorf("%q did not reach the terminal in %q", good, term.last)
		}
	}
}

func TestNoColor(t *testing.T) {
	var b bytes.Buffer
	s := New(&b, &Options{Env: []string{"TERM=xterm-256color", "NO_COLOR=1"}})
	draw(t, s, nil, "\x1b[31;1mred")
	if strings.Contains(b.String(), "31") || !strings.Contains(b.String(), "\x1b[1m") {
		t.Errorf("wrote %q", b.String())
	}
}

func TestResizeLeavesNoStaleRows(t *testing.T) {
	term := newTerminal(80, 24)
	s := newScreen(term)
	s.Print("finished")
	draw(t, s, &Position{2, 1}, strings.Repeat("─", 80), "> ", strings.Repeat("─", 80), "status")
	for _, size := range [][2]int{{60, 20}, {120, 40}, {80, 10}, {20, 5}, {80, 24}} {
		term.Resize(size[0], size[1])
		s.Resize(size[0], size[1])
		rule := strings.Repeat("─", size[0])
		draw(t, s, &Position{2, 1}, rule, "> ", rule, "status")
		same(t, term, "finished", rule, ">", rule, "status")
	}
}

// Whatever the sizes, the blocks and the cursor are, the last frame is on the screen as a whole.
func TestAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 12)
		term := newTerminal(size.Draw(t, "width"), size.Draw(t, "height"))
		s := New(term, &Options{Width: term.Width(), Height: term.Height(), Env: rapid.SampledFrom([][]string{noReflow, nil}).Draw(t, "environment")})
		for range rapid.IntRange(1, 12).Draw(t, "frames") {
			if rapid.Bool().Draw(t, "resized") {
				term.Resize(size.Draw(t, "width"), size.Draw(t, "height"))
				s.Resize(term.Width(), term.Height())
			}
			block := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "日本", "longertextthatiscut"}), 1, 14).Draw(t, "block")
			var cursor *Position
			if rapid.Bool().Draw(t, "cursor") {
				cursor = &Position{0, rapid.IntRange(0, len(block)-1).Draw(t, "row")}
			}
			if err := s.Draw(block, cursor); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, l := range block[max(0, len(block)-term.Height()):] {
				want = append(want, ansi.Cut(l, 0, term.Width()))
			}
			got := strings.Join(term.rows(), "\n")
			if want := strings.Join(want, "\n"); got != want && !strings.HasSuffix(got, "\n"+want) {
				t.Fatalf("terminal:\n%s\nwant at the end:\n%s\nlast frame: %q", got, want, term.last)
			}
		}
	})
}

// Whatever a line has, its cells have no control characters and fit.
func TestCellsAreText(t *testing.T) {
	parts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[", "\x1b]8;;", "\x1b]8;a=b;http://\x1b\\", "\x1b]0;x\a", "\x9b2J", "\u009b", "\x1b[31", "m", "\x1bP", "\x1b\\", "\x18", "\xff", "日", "\u0301", "👩\u200d💻", "🇯🇵", "\t", "\r", "\x1b[?1049h", "\x1b[4:3m"}))
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"), "")
		width := rapid.IntRange(1, 20).Draw(t, "width")
		r := parseRow(line, width, colorprofile.TrueColor)
		if len(r.cells) > width {
			t.Fatalf("%q takes %d cells, more than %d", line, len(r.cells), width)
		}
		for x := 0; x < len(r.cells); x += r.cells[x].Width {
			c := r.cells[x]
			if c.Width <= 0 || c.Content == "" || hasControl(c.Content+c.Link.URL+c.Link.Params) {
				t.Fatalf("%q has the cell %q of width %d, link %q", line, c.Content, c.Width, c.Link)
			}
		}
	})
}

func BenchmarkPrint(b *testing.B) {
	var w counter
	for b.Loop() {
		s := New(&w, nil)
		for range 1000 {
			s.Print("\x1b[1mone\x1b[m finished row of sixty-odd characters with some \x1b[31mcolor\x1b[m")
		}
		draw(b, s, nil, "> ")
	}
}

// Whatever is printed and drawn, the terminal has the printed rows and then the live block.
func TestAnySequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(4, 30).Draw(t, "width"), rapid.IntRange(2, 9).Draw(t, "height")
		term := newTerminal(width, height)
		s := newScreen(term)
		text := rapid.SampledFrom([]string{"", "", "a", "b", "ab cd", "日本", "x日", "é", "e\u0301x", "\x1b[31mred\x1b[m", "\x1b[44m  \x1b[m", "   z", "🙂 ok", "longer text"})
		line := rapid.Custom(func(t *rapid.T) string { return text.Draw(t, "a") + text.Draw(t, "b") })
		var finished, block []string
		cut := func(l string) string {
			var b strings.Builder
			for _, c := range parseRow(l, width, s.colors).cells {
				b.WriteString(c.Content)
			}
			return strings.TrimRight(b.String(), " ")
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			n := rapid.IntRange(0, 3).Draw(t, "printed")
			for i := range n {
				var l string
				if i < len(block) && rapid.Bool().Draw(t, "from the block") {
					l = block[i]
				} else {
					l = line.Draw(t, "finished")
				}
				if w := len(parseRow(l, 0, s.colors).cells); w > width { // wrapping is the terminal's business
					l = "w"
				}
				finished = append(finished, l)
				s.Print(l)
			}
			if rapid.Bool().Draw(t, "alternate") {
				visitAlternate(t, term, s, rapid.SliceOfN(rapid.SliceOfN(line, 0, height+2), 0, 3).Draw(t, "pages"), cut)
			}
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				block = rapid.SliceOfN(line, 0, height+2).Draw(t, "block")
			case 1: // insert or append rows
				i := rapid.IntRange(0, len(block)).Draw(t, "at")
				block = append(block[:i:i], append(rapid.SliceOfN(line, 0, 3).Draw(t, "rows"), block[i:]...)...)
			case 2: // delete rows
				i := rapid.IntRange(0, len(block)).Draw(t, "at")
				block = append(block[:i:i], block[min(len(block), i+rapid.IntRange(0, 3).Draw(t, "n")):]...)
			default: // change one row
				if len(block) > 0 {
					block = append([]string{}, block...)
					block[rapid.IntRange(0, len(block)-1).Draw(t, "at")] += text.Draw(t, "appended")
				}
			}
			var cursor *Position
			if len(block) > 0 && rapid.Bool().Draw(t, "cursor") {
				cursor = &Position{rapid.IntRange(0, width-1).Draw(t, "x"), rapid.IntRange(0, len(block)-1).Draw(t, "y")}
			}
			if err := s.Draw(block, cursor); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, l := range append(finished[:len(finished):len(finished)], block[max(0, len(block)-height):]...) {
				want = append(want, cut(l))
			}
			for len(want) > 0 && want[len(want)-1] == "" {
				want = want[:len(want)-1]
			}
			if got := strings.Join(term.rows(), "\n"); got != strings.Join(want, "\n") {
				t.Fatalf("terminal:\n%s\nwant:\n%s\nlast frame: %q", got, strings.Join(want, "\n"), term.last)
			}
			if cursor != nil {
				y := cursor.Y - max(0, len(block)-height)
				if hidden := y < 0; hidden != term.CursorHidden() {
					t.Fatalf("cursor hidden %v, want %v", !hidden, hidden)
				}
				if y >= 0 && term.CursorPosition().X != cursor.X {
					t.Fatalf("cursor in column %d, want %d; last frame: %q", term.CursorPosition().X, cursor.X, term.last)
				}
				if y >= 0 {
					r := s.rows[s.y]
					var have strings.Builder
					for x := range width {
						if c := term.CellAt(x, term.CursorPosition().Y); c != nil {
							have.WriteString(c.Content)
						}
					}
					if strings.TrimRight(have.String(), " ") != cut(r.text) {
						t.Fatalf("cursor in row %q, want %q; last frame: %q", have.String(), r.text, term.last)
					}
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if p := term.CursorPosition(); p.X != 0 || term.CursorHidden() {
			t.Fatalf("cursor at %v, hidden %v after Close", p, term.CursorHidden())
		}
	})
}

// visitAlternate draws pages on the alternate screen and returns.
func visitAlternate(t *rapid.T, term *terminal, s *Screen, pages [][]string, cut func(string) string) {
	before := strings.Join(term.rows(), "\n")
	if err := s.Alternate(true); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if err := s.Draw(page, nil); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, l := range page[max(0, len(page)-s.height):] {
			want = append(want, cut(l))
		}
		for l := range strings.SplitSeq(term.String(), "\n") {
			got = append(got, strings.TrimRight(l, " "))
		}
		if w, g := strings.TrimRight(strings.Join(want, "\n"), "\n"), strings.TrimRight(strings.Join(got, "\n"), "\n"); w != g {
			t.Fatalf("alternate screen:\n%s\nwant:\n%s\nlast frame: %q", g, w, term.last)
		}
	}
	if err := s.Alternate(false); err != nil {
		t.Fatal(err)
	}
	if after := strings.Join(term.rows(), "\n"); after != before {
		t.Fatalf("after the alternate screen:\n%s\nbefore:\n%s", after, before)
	}
}
