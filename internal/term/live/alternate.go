package live

import "io"

// The alternate screen has no scrollback, and the terminal restores the normal screen and its cursor
// after it. In kitty's protocol, each screen has its own keyboard modes, so the mode of package input
// is set there too. A cursor that the inline block has hidden is shown.
const (
	enterAlternate = "\x1b[?1049h\x1b[>1u\x1b[?25h"
	leaveAlternate = "\x1b[<u\x1b[?1049l"
)

// Alternate shows the terminal's alternate screen, or the normal one again. On the alternate screen,
// Draw replaces the whole screen, and Print only collects rows. The next Draw on the normal screen
// continues its live block, and prints what was collected.
func (s *Screen) Alternate(on bool) error {
	if on == (s.inline != nil) {
		return nil
	}
	if on {
		if _, err := io.WriteString(s.w, enterAlternate); err != nil {
			return err
		}
		normal := s.block
		s.inline, s.block = &normal, block{rows: make([]row, 1)}
		return nil
	}
	modes := leaveAlternate
	if s.hidden != s.inline.hidden { // the terminal has one state for both screens
		modes += map[bool]string{true: "\x1b[?25l", false: "\x1b[?25h"}[s.inline.hidden]
	}
	s.block, s.inline = *s.inline, nil
	_, err := io.WriteString(s.w, modes)
	return err
}

// beginAlternate erases the alternate screen before the first frame and after a resize or Clear.
func (s *Screen) beginAlternate(p *painter) bool {
	if s.started && !s.resized && !s.cleared {
		return false
	}
	p.write("\x1b[H\x1b[2J")
	s.started, s.resized, s.cleared = true, false, false
	s.rows, p.y, p.x = make([]row, 1), 0, 0
	return true
}
