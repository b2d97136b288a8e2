package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// terminal says what a stream can show.
type terminal struct {
	tty   bool
	dumb  bool // cannot move the cursor
	color bool
	width int
}

// terminal looks at a stream and at NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM.
func (p *Program) terminal(w io.Writer) terminal {
	t := terminal{width: 80}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		t.tty = true
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
			t.width = cols
		}
	}
	t.dumb = p.env("TERM") == "dumb"
	t.color = t.tty && !t.dumb
	if v := p.env("FORCE_COLOR"); v != "" && v != "0" || p.env("CLICOLOR_FORCE") == "1" {
		t.color = true
	}
	if p.env("NO_COLOR") != "" || p.env("FORCE_COLOR") == "0" {
		t.color = false
	}
	return t
}

// attended reports whether a person can answer: input and Stderr are terminals.
func (p *Program) attended() bool {
	f, ok := p.Stdin.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && p.err.term.tty
}

func (t terminal) style(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t terminal) bold(s string) string   { return t.style("1", s) }
func (t terminal) dim(s string) string    { return t.style("2", s) }
func (t terminal) red(s string) string    { return t.style("31", s) }
func (t terminal) green(s string) string  { return t.style("32", s) }
func (t terminal) yellow(s string) string { return t.style("33", s) }
func (t terminal) cyan(s string) string   { return t.style("36", s) }
