package live

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// stream is an answer that a model streams at 200 tokens per second into a live block with an input
// line and a status line below it.
type stream struct {
	width  int
	tokens []string
	done   int
	lines  []string // the answer, wrapped
}

func newStream(width, tokens int) *stream {
	s := &stream{width: width, lines: []string{""}}
	for i := range tokens {
		s.tokens = append(s.tokens, []string{"word ", "token ", "of a ", "line "}[i%4])
	}
	return s
}

// next adds n tokens and returns the number of their bytes, or 0 at the end.
func (s *stream) next(n int) (size int) {
	for ; n > 0 && s.done < len(s.tokens); n-- {
		t := s.tokens[s.done]
		s.done++
		size += len(t)
		if last := len(s.lines) - 1; len(s.lines[last])+len(t) > s.width {
			s.lines = append(s.lines, t)
		} else {
			s.lines[last] += t
		}
	}
	return size
}

func (s *stream) block() ([]string, *Position) {
	rule := strings.Repeat("─", s.width)
	below := []string{"", rule, "> what I type", rule, "model · mode · 12% of context"}
	return append(append([]string{}, s.lines...), below...), &Position{13, len(s.lines) + 2}
}

// perFrame returns how many tokens arrive in each frame.
func perFrame(interval time.Duration) func(frame int) int {
	return func(frame int) int {
		const second = 200
		at := func(f int) int { return int(time.Duration(f) * interval * second / time.Second) }
		return at(frame+1) - at(frame)
	}
}

func TestBytesPerStreamedToken(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		for _, interval := range []time.Duration{5 * time.Millisecond, 16 * time.Millisecond, 33 * time.Millisecond} {
			term := newTerminal(width, 24)
			s, st := newScreen(term), newStream(width, 400)
			lines, cursor := st.block()
			draw(t, s, cursor, lines...)
			term.all = 0
			size, count, worst := 0, perFrame(interval), 0
			for f := 0; st.done < len(st.tokens); f++ {
				n := st.next(count(f))
				if n == 0 {
					continue
				}
				if len(st.lines) > 8 { // finished rows leave the live block
					s.Print(st.lines[:4]...)
					st.lines = st.lines[4:]
				}
				size += n
				lines, cursor := st.block()
				draw(t, s, cursor, lines...)
				worst = max(worst, len(term.last))
			}
			ratio := float64(term.all) / float64(size)
			t.Logf("width %d, a frame every %v: %.2f bytes per byte of text, largest frame %d", width, interval, ratio, worst)
			if ratio > 4 {
				t.Errorf("width %d, a frame every %v: %.2f bytes per byte of text", width, interval, ratio)
			}
			want := append(append([]string{}, wrapped(width, 400)...), lines[len(lines)-5:]...)
			same(t, term, want...)
		}
	}
}

func wrapped(width, tokens int) []string {
	s := newStream(width, tokens)
	s.next(tokens)
	for i, l := range s.lines {
		s.lines[i] = strings.TrimRight(l, " ")
	}
	return s.lines
}

func TestBytesOfOneCell(t *testing.T) {
	term := newTerminal(80, 24)
	s, st := newScreen(term), newStream(80, 100)
	st.next(100)
	lines, cursor := st.block()
	for i, mark := range []string{"|", "/", "\x1b[38;2;1;2;3m-\x1b[m"} {
		for _, y := range []int{0, len(st.lines), len(lines) - 1} {
			changed := append([]string{}, lines...)
			changed[y] = mark + changed[y][min(1, len(changed[y])):]
			draw(t, s, cursor, changed...)
			if i > 0 && y == 0 && len(term.last) >= 80 {
				t.Errorf("%q in two rows takes %d bytes: %q", mark, len(term.last), term.last)
			}
			draw(t, s, cursor, lines...)
			if i > 0 && len(term.last) >= 40 {
				t.Errorf("%q in row %d takes %d bytes: %q", mark, y, len(term.last), term.last)
			}
		}
	}
	draw(t, s, cursor, lines...)
	term.last = nil
	draw(t, s, cursor, lines...)
	if term.last != nil {
		t.Errorf("a frame without a change writes %q", term.last)
	}
}

// BenchmarkRenderers compares the bytes and the time of one frame with those of ultraviolet's
// renderer. Both stream the same answer.
func BenchmarkRenderers(b *testing.B) {
	const width, height = 80, 24
	for _, interval := range []time.Duration{5 * time.Millisecond, 16 * time.Millisecond, 33 * time.Millisecond} {
		run := func(b *testing.B, w *counter, frame func(lines []string, cursor *Position)) {
			size, frames := 0, 0
			for b.Loop() {
				st, count := newStream(width, 200), perFrame(interval)
				lines, cursor := st.block()
				frame(lines, cursor)
				for f := 0; st.done < len(st.tokens); f++ {
					size += st.next(count(f))
					lines, cursor := st.block()
					frame(lines, cursor)
					frames++
				}
			}
			b.ReportMetric(float64(*w)/float64(size), "B/textB")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
		}
		b.Run(fmt.Sprintf("live/%v", interval), func(b *testing.B) {
			var w counter
			s := New(&w, &Options{Width: width, Height: height})
			run(b, &w, func(lines []string, cursor *Position) { _ = s.Draw(lines, cursor) })
		})
		b.Run(fmt.Sprintf("ultraviolet/%v", interval), func(b *testing.B) {
			var w counter
			r := uv.NewTerminalRenderer(&w, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
			r.SetRelativeCursor(true)
			r.SetFullscreen(false)
			buf := uv.NewRenderBuffer(width, 1)
			run(b, &w, func(lines []string, cursor *Position) {
				buf.Resize(width, len(lines))
				buf.Clear()
				for y, l := range lines {
					uv.NewStyledString(l).Draw(scr{buf}, uv.Rect(0, y, width, 1))
				}
				r.Render(buf)
				r.MoveTo(cursor.X, cursor.Y)
				_ = r.Flush()
			})
		})
	}
}

type scr struct{ *uv.RenderBuffer }

func (scr) WidthMethod() uv.WidthMethod { return ansi.GraphemeWidth }

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

var _ io.Writer = (*counter)(nil)
