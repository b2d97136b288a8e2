// Package live draws the end of a conversation in a terminal. Finished rows become part of the
// terminal's own scrollback; only the live block below them is redrawn:
//
//	finished row        printed once, belongs to the terminal
//	finished row
//	────────────────
//	answer so far…      live block: Draw writes what changed
//	> input
//	status
//
//	s := live.New(os.Stdout, &live.Options{Width: 80, Height: 24, Env: os.Environ()})
//	defer s.Close()
//	s.Print("finished")
//	err := s.Draw([]string{"answer so far…", "> input"}, &live.Position{X: 7, Y: 1})
//
// A program that needs the whole screen for a while, such as a pager, switches with
// [Screen.Alternate]. The package does not wrap text and does not read the terminal.
package live

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Position is a cell of the live block. X counts columns and Y counts lines, both from 0.
type Position struct{ X, Y int }

// Options describe the terminal.
type Options struct {
	Width, Height int      // in cells; 0 means 80×24
	Env           []string // environment, which tells the colors and the kind of terminal; nil means all colors
}

// Screen draws on a terminal in raw mode. It is not safe for concurrent use.
type Screen struct {
	w             io.Writer
	width, height int
	colors        colorprofile.Profile
	reflows       bool // true if the terminal wraps old rows again when its width changes

	block
	inline  *block // the block of the normal screen while the alternate screen is shown; otherwise nil
	printed []string
}

// block is what the package knows of the screen that the terminal shows.
type block struct {
	rows    []row // the live block as it is on the terminal; at least one row
	y, x    int   // the terminal's cursor, relative to the top of the live block
	hidden  bool  // true if the cursor is hidden
	started bool  // false before the first frame and after Close
	resized bool  // true if the size changed since the last frame
	cleared bool  // true if the next frame starts with an empty screen
}

// New returns a screen that writes to w. It writes nothing before the first Draw.
func New(w io.Writer, o *Options) *Screen {
	if o == nil {
		o = &Options{}
	}
	s := &Screen{w: w, width: 80, height: 24, colors: colorprofile.TrueColor, reflows: reflows(o.Env), block: block{rows: make([]row, 1)}}
	if o.Width > 0 && o.Height > 0 {
		s.width, s.height = o.Width, o.Height
	}
	if o.Env != nil {
		s.colors = colorprofile.Env(o.Env)
	}
	return s
}

// Colors returns how many colors the terminal has, as its environment says.
func Colors(env []string) int {
	switch colorprofile.Env(env) {
	case colorprofile.TrueColor:
		return 1 << 24
	case colorprofile.ANSI256:
		return 256
	case colorprofile.ANSI:
		return 16
	}
	return 0
}

// reflows reports whether a terminal wraps old rows again when its width changes. Most do; the Linux
// console, xterm and GNU screen cut them.
func reflows(env []string) bool {
	get := func(name string) string {
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	}
	if get("TMUX") != "" {
		return true
	}
	term := get("TERM")
	return term != "linux" && get("XTERM_VERSION") == "" && !strings.HasPrefix(term, "screen") && !strings.HasPrefix(term, "vt")
}

// Print adds finished rows above the live block. They are written by the next Draw or Close of the
// normal screen. The terminal wraps a finished row that is too wide, so that no text is lost and copies stay whole.
func (s *Screen) Print(lines ...string) {
	for _, l := range lines {
		s.printed = append(s.printed, strings.Split(l, "\n")...)
	}
}

// Draw replaces the live block. A line that is too wide is cut at its end, a block that is too high
// at its top. The cursor is hidden if cursor is nil or outside the block. An error comes from the
// writer; the next Draw then draws everything again.
func (s *Screen) Draw(lines []string, cursor *Position) error {
	p := &painter{width: s.width, y: s.y, x: s.x}
	whole := s.begin(p)
	printed := s.printed
	if s.inline != nil {
		s.printed = nil // kept until the normal screen is shown
	}
	if len(s.printed) > 0 {
		whole = true
		s.printWide(p)
	}
	fresh := s.parse(lines)
	finished := len(fresh) - min(max(len(lines), 1), s.height)
	if len(fresh) != len(s.rows) {
		whole = true
	}
	spans := s.change(p, fresh)
	s.printed = nil
	if s.inline != nil {
		s.printed = printed
	}

	to, hide := s.target(lines, cursor)
	to.Y += finished
	var frame []byte
	switch {
	case !whole && len(spans) == 1 && (hide && s.hidden || !hide && !s.hidden && to == (Position{s.x, s.y})):
		frame = s.paintOne(p, fresh, spans[0], to, hide)
	default:
		for _, sp := range spans {
			p.span(fresh[sp.y], sp)
		}
		if !hide {
			p.move(to.Y, to.X)
		}
		if hide != s.hidden {
			p.write(map[bool]string{true: "\x1b[?25l", false: "\x1b[?25h"}[hide])
		}
		frame = wrap(p, whole || len(spans) > 1)
	}
	s.rows, s.y, s.x, s.hidden = fresh[finished:], p.y-finished, p.x, hide
	if len(frame) == 0 {
		return nil
	}
	if _, err := s.w.Write(frame); err != nil {
		s.cleared = true
		return err
	}
	return nil
}

// begin prepares the terminal for a frame after the first start, a resize or Clear. It reports
// whether it did.
func (s *Screen) begin(p *painter) bool {
	if s.inline != nil {
		return s.beginAlternate(p)
	}
	switch {
	case !s.started:
		p.write("\r")
	case s.resized:
		if up := s.rowsAbove(); up > 0 {
			p.csi(up, 'A')
		}
		p.write("\r")
	case s.cleared:
		p.move(0, 0)
	default:
		return false
	}
	p.eraseBelow()
	if s.cleared { // scroll, so that finished rows stay in the scrollback
		p.write(strings.Repeat("\n", s.height-1) + "\x1b[H")
	}
	s.started, s.resized, s.cleared = true, false, false
	s.rows, p.y, p.x = make([]row, 1), 0, 0
	return true
}

// rowsAbove returns how many terminal rows of the live block are above the cursor after a resize.
func (s *Screen) rowsAbove() int {
	if !s.reflows {
		return min(s.y, s.height-1)
	}
	n := 0
	for _, r := range s.rows[:min(s.y, len(s.rows))] {
		n += max(1, (len(r.cells)+s.width-1)/s.width)
	}
	if s.y >= len(s.rows) { // a hidden cursor stays below a block that has shrunk
		return min(n, s.height-1)
	}
	if w := len(s.rows[s.y].cells); w > s.width {
		x := s.x
		if x < 0 || x >= w {
			x = w - 1
		}
		n += x / s.width
	}
	return min(n, s.height-1)
}

// printWide writes the finished rows if one of them is wider than the screen. The terminal then
// decides how many rows they take, so that the live block starts again below them.
func (s *Screen) printWide(p *painter) {
	wide := func(l string) bool {
		return len(ansi.Strip(l)) > s.width && len(parseRow(l, 0, s.colors).cells) > s.width || strings.Contains(l, "\t")
	}
	if !slices.ContainsFunc(s.printed, wide) {
		return
	}
	p.move(0, 0)
	p.eraseBelow()
	p.write("\x1b[?7h")
	p.width = 0
	for _, l := range s.printed {
		r := parseRow(l, 0, s.colors)
		p.cells(r, 0, len(r.cells))
		p.newline(1)
	}
	p.write("\x1b[?7l")
	p.width = s.width
	p.y, p.x = 0, 0
	s.rows, s.printed = make([]row, 1), nil
}

// parse returns the finished rows and the rows of the live block that fit on the screen. It takes
// rows that did not change from the terminal's state.
func (s *Screen) parse(lines []string) []row {
	lines = lines[max(0, len(lines)-s.height):]
	if len(lines) == 0 {
		lines = []string{""}
	}
	fresh := make([]row, 0, len(s.printed)+len(lines))
	for _, l := range slices.Concat(s.printed, lines) {
		i := slices.IndexFunc(s.rows, func(r row) bool { return r.text == l })
		if i >= 0 {
			fresh = append(fresh, s.rows[i])
		} else {
			fresh = append(fresh, parseRow(l, s.width, s.colors))
		}
	}
	return fresh
}

// target returns the position of the cursor in the visible part of the block, and whether it is
// hidden.
func (s *Screen) target(lines []string, cursor *Position) (Position, bool) {
	if cursor == nil {
		return Position{}, true
	}
	to := Position{min(max(cursor.X, 0), s.width-1), cursor.Y - max(0, len(lines)-s.height)}
	if to.Y < 0 || to.Y >= min(max(len(lines), 1), s.height) {
		return Position{}, true
	}
	return to, false
}

// Resize tells the screen the terminal's new size. The next Draw erases what the terminal made of the
// old live block.
func (s *Screen) Resize(width, height int) {
	if width > 0 && height > 0 && (width != s.width || height != s.height) {
		s.width, s.height, s.resized = width, height, true
		if s.inline != nil {
			s.inline.resized = true
		}
	}
}

// Clear makes the next Draw start at the top of an empty screen. The scrollback stays.
func (s *Screen) Clear() { s.cleared = true }

// Forget makes the next Draw start a new live block at the start of the cursor's row. It is for a
// program that was stopped without notice: the shell has written below the old block since.
func (s *Screen) Forget() {
	s.rows, s.y, s.x, s.started, s.hidden = make([]row, 1), 0, 0, false, false
}

// Close erases the live block, shows the cursor and leaves it on a fresh line. A later Draw starts a
// new live block there, for example after the program was suspended. It leaves the alternate screen.
func (s *Screen) Close() error {
	if err := s.Alternate(false); err != nil {
		return err
	}
	if !s.started && len(s.printed) == 0 {
		return nil
	}
	err := s.Draw(nil, &Position{})
	s.started = false
	return err
}
