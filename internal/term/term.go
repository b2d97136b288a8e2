// Package term is the only package that prints to a terminal, draws in it, or asks the user there.
//
//	        ┌── Out, a [Printer]: data ───────────────► stdout
//	Terminal┤── Err, a [Printer]: everything else ────► stderr
//	        └── Ask, a [Prompter]: questions and keys ──► the screen, the keyboard
//
// If both streams are the same screen, their printers share the cursor position and the [Progress]
// line. While a [Prompter] waits for an answer, other output waits too, so that the question stays
// visible.
//
//	t := term.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
//	t.Out.Line("%s", term.Escape(text))
//	t.Err.Progress().Show("waiting for the model")
//
// Text from a model, a tool or a file is escaped by [Escape] before it is printed. Messages begin
// with a lower-case letter and have no period at the end. A hint is a command or an action, on its
// own line.
package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal is the input and the two outputs of a program.
type Terminal struct {
	Out *Printer
	Err *Printer

	in   io.Reader
	env  func(string) string
	keys *Keyboard // nil until a question is asked
}

// New returns the terminal of a program. env looks up NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and
// TERM.
func New(in io.Reader, out, errs io.Writer, env func(string) string) *Terminal {
	t := &Terminal{
		in: in, env: env,
		Out: NewPrinter(out, StyleOf(out, env)),
		Err: NewPrinter(errs, StyleOf(errs, env)),
	}
	t.Err.Progress() // creates the progress line before other goroutines use the printer
	t.Err.Share(t.Out)
	return t
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Ask returns a prompter for the user, or nil if there is no terminal. Questions are printed to
// stderr. If stderr is redirected, they are printed to the controlling terminal. The caller closes
// the prompter.
func (t *Terminal) Ask() *Prompter {
	if !IsTerminal(t.in) {
		return nil
	}
	if t.keys == nil { // one reader, because a second one would miss input that the first one has read
		t.keys = NewKeyboard(t.in)
	}
	if t.Err.TTY {
		t.Err.Progress() // creates the progress line that the prompter shares
		return NewPrompter(t.keys, t.Err)
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	p := NewPrompter(t.keys, NewPrinter(tty, StyleOf(tty, t.env)))
	p.tty = tty
	if t.Out.TTY {
		p.Out.screen = t.Out.screen
	}
	return p
}
