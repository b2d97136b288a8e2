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

// screen returns where a person who sits at the input reads questions: Stderr,
// or the controlling terminal when Stderr goes elsewhere. It is nil when nobody
// is there to answer. The function it returns closes what was opened.
func (p *Program) screen() (*printer, func()) {
	f, ok := p.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return nil, nil
	}
	if p.err.term.tty {
		return p.err, func() {}
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil, nil
	}
	return newPrinter(tty, p.terminal(tty)), func() { _ = tty.Close() }
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
