package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style describes what a stream can display.
type Style struct {
	TTY   bool
	Dumb  bool // cannot move the cursor
	Color bool
	Width int // columns of a stream that is not a terminal

	file *os.File // the terminal of the stream, or nil if the stream is not a terminal
}

// StyleOf returns the style of a stream. env looks up NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and
// TERM.
func StyleOf(w io.Writer, env func(string) string) Style {
	s := Style{Width: 80}
	if IsTerminal(w) {
		s.TTY, s.file = true, w.(*os.File)
	}
	s.Dumb = env("TERM") == "dumb"
	s.Color = s.TTY && !s.Dumb
	if v := env("FORCE_COLOR"); v != "" && v != "0" || env("CLICOLOR_FORCE") == "1" {
		s.Color = true
	}
	if env("NO_COLOR") != "" || env("FORCE_COLOR") == "0" {
		s.Color = false
	}
	return s
}

// Columns returns the current width of the terminal, or Width if the stream is not a terminal.
func (s Style) Columns() int {
	if s.file != nil {
		if cols, _, err := term.GetSize(int(s.file.Fd())); err == nil && cols > 0 {
			return cols
		}
	}
	return s.Width
}

// Rows returns the current height of the terminal, or 24 if the stream is not a terminal.
func (s Style) Rows() int {
	if s.file != nil {
		if _, rows, err := term.GetSize(int(s.file.Fd())); err == nil && rows > 0 {
			return rows
		}
	}
	return 24
}

// reset ends a style.
const reset = "\x1b[0m"

func (s Style) style(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + reset
}

// Bold, Dim and the colors style text if the stream has colors.
func (s Style) Bold(text string) string   { return s.style("1", text) }
func (s Style) Dim(text string) string    { return s.style("2", text) }
func (s Style) Red(text string) string    { return s.style("31", text) }
func (s Style) Green(text string) string  { return s.style("32", text) }
func (s Style) Yellow(text string) string { return s.style("33", text) }
func (s Style) Cyan(text string) string   { return s.style("36", text) }
