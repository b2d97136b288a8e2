// Package paint colors, measures and breaks text for the lines of a terminal.
//
//	p := paint.Palette{Style: markdown.ANSI16}
//	line := p.Paint(paint.Good, "●") + " " + p.Paint(paint.Bold, paint.Line(name))
//
// A line has no other escape sequences than the colors of this package. Text from outside the program becomes safe in
// [Line], [Wrap] and [Text]; the other functions expect safe text.
package paint

import (
	"github.com/holdfast-dev/holdfast/internal/markdown"
)

// Palette says which colors the terminal has. Most roles use the 16 colors that the user has chosen for the terminal,
// so that they are readable on a light and on a dark background. Only the background of changed lines is fixed.
type Palette struct {
	Style markdown.Style
	Light bool // the background is light
}

// Role is what a text means. A color never says it alone: signs and words say it, too.
type Role uint8

// The roles.
const (
	None Role = iota
	Bold
	Dim
	Accent // what belongs to the program or to the user
	Good
	Warn
	Bad
	Info
	Special
	Selected
	Added
	Removed
	AddedWord   // what differs within an added line
	RemovedWord // what differs within a removed line
	roles
)

// codes lists the codes of the roles for 16 colors, and, where they differ, for 256 and for 24-bit colors on a dark
// and on a light background.
var codes = [roles]struct{ code, dark256, light256, dark, light string }{
	Bold:        {code: "1"},
	Dim:         {code: "2"},
	Accent:      {code: "36"},
	Good:        {code: "32"},
	Warn:        {code: "33"},
	Bad:         {code: "31"},
	Info:        {code: "34"},
	Special:     {code: "35"},
	Selected:    {code: "7"},
	Added:       {"32", "48;5;22", "48;5;194", "48;2;20;52;28", "48;2;218;251;225"},
	Removed:     {"31", "48;5;52", "48;5;224", "48;2;66;24;28", "48;2;255;235;233"},
	AddedWord:   {"32;7", "48;5;28", "48;5;157", "48;2;30;110;55", "48;2;160;240;180"},
	RemovedWord: {"31;7", "48;5;88", "48;5;217", "48;2;140;38;46", "48;2;255;190;186"},
}

// Paint returns text in the color of a role.
func (p Palette) Paint(r Role, text string) string {
	code := p.code(r)
	if code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

func (p Palette) code(r Role) string {
	c := codes[r]
	code := c.code
	switch {
	case p.Style == markdown.Plain:
		return ""
	case p.Style == markdown.ANSI256 && p.Light:
		code = c.light256
	case p.Style == markdown.ANSI256:
		code = c.dark256
	case p.Style == markdown.TrueColor && p.Light:
		code = c.light
	case p.Style == markdown.TrueColor:
		code = c.dark
	}
	if code == "" {
		return c.code
	}
	return code
}

// Filled reports whether a role has a background, so that a line looks best when it is filled to its end.
func (p Palette) Filled(r Role) bool {
	return codes[r].dark != "" && p.Style >= markdown.ANSI256
}

// Span is a text with one color.
type Span struct {
	Text string
	Role Role
}

// Spans returns a line of several colors.
func (p Palette) Spans(line []Span) string {
	s := ""
	for i := 0; i < len(line); {
		text, role := "", line[i].Role
		for ; i < len(line) && line[i].Role == role; i++ {
			text += line[i].Text
		}
		s += p.Paint(role, text)
	}
	return s
}
