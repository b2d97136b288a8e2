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
	width int      // of what is no terminal
	of    *os.File // the terminal; nil: none
}

// columns is how wide it is now.
func (t terminal) columns() int {
	if t.of != nil {
		if cols, _, err := term.GetSize(int(t.of.Fd())); err == nil && cols > 0 {
			return cols
		}
	}
	return t.width
}

// terminal looks at a stream and at NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM.
func (p *Program) terminal(w io.Writer) terminal {
	t := terminal{width: 80}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		t.tty, t.of = true, f
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
		p.err.progress() // one for both
		ask := *p.err
		ask.front = true
		return &ask, func() {}
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil, nil
	}
	ask := newPrinter(tty, p.terminal(tty))
	if ask.front = true; p.out.term.tty {
		ask.shape = p.out.shape
	}
	return ask, func() { _ = tty.Close() }
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
