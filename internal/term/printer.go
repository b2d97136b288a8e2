package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// Printer writes to one stream. Printers that write to the same screen share a lock and the cursor
// position. Errors of the stream are not reported, except by Bytes and JSON.
type Printer struct {
	Style

	w         io.Writer
	screen    *screen
	progress  *Progress
	prompting bool // true if it prints a question: its output does not wait for the answer
}

// screen is the state that printers of the same screen share.
type screen struct {
	mu      sync.Mutex
	midLine bool   // true if the cursor is not at the start of a line
	line    string // while typing: the text of that line

	typing bool                    // a [Typing] reads the keyboard: the terminal does not echo
	draft  string                  // what the user has typed on the unfinished line
	leave  atomic.Pointer[rawMode] // the mode to leave before the process ends; nil if there is none

	asking  bool           // true if a question is open; other output then waits
	held    []func() error // the output that waits
	dropped int            // the number of writes that were dropped because too many were waiting
}

// wrote notes the position of the cursor after a text.
func (s *screen) wrote(text string) {
	s.midLine = !strings.HasSuffix(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		s.line, text = "", text[i+1:]
	}
	if s.typing {
		s.line += text
	}
}

// MaxBuffered is the maximum number of writes that wait while a question is open; further writes
// are dropped and counted.
const MaxBuffered = 4096

// NewPrinter returns a printer that writes to w.
func NewPrinter(w io.Writer, s Style) *Printer {
	return &Printer{Style: s, w: w, screen: &screen{}}
}

// Share makes q write to the same screen as p if both write to a terminal.
func (p *Printer) Share(q *Printer) {
	if p.TTY && q.TTY {
		p.screen = q.screen
		if q.progress = p.Progress(); q.progress != nil {
			q.progress.screen = q.screen
		}
	}
}

// Text writes text as it is, without a newline.
func (p *Printer) Text(s string) {
	if s == "" {
		return
	}
	_ = p.put(func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		p.screen.wrote(s)
		return err
	})
}

// Repaint writes lines over the last n lines of the terminal, in one write. No line may be wider
// than the terminal.
func (p *Printer) Repaint(n int, lines []string) {
	var b strings.Builder
	if n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", n)
	}
	b.WriteString("\r")
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	_ = p.put(func(w io.Writer) error {
		_, err := io.WriteString(w, b.String())
		p.screen.wrote("\n")
		return err
	})
}

// put writes immediately or, if a question is open, after it is answered.
func (p *Printer) put(write func(io.Writer) error) error {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	switch {
	case !p.screen.asking || p.prompting:
		return p.write(write)
	case len(p.screen.held) < MaxBuffered:
		p.screen.held = append(p.screen.held, func() error { return p.write(write) })
	default:
		p.screen.dropped++
	}
	return nil
}

// write writes immediately, and keeps the draft of the user below the output. A terminal gets all of
// it in one piece, so that it does not flicker. The caller holds screen.mu.
func (p *Printer) write(write func(io.Writer) error) error {
	if p.progress == nil {
		return write(p.w)
	}
	var b bytes.Buffer
	b.WriteString(p.progress.erase())
	err := write(&b)
	b.WriteString(p.progress.drawDraft())
	if err == nil {
		_, err = p.w.Write(b.Bytes())
	}
	return err
}

// control changes the state of the screen and writes a control sequence.
func (p *Printer) control(sequence string, change func()) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	_ = p.write(func(w io.Writer) error {
		change()
		_, err := io.WriteString(w, sequence)
		return err
	})
}

// pause makes the output of other printers wait until release is called.
func (p *Printer) pause() (release func()) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.asking = true
	return p.release
}

// release writes the output that has waited.
func (p *Printer) release() {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	for _, write := range p.screen.held {
		_ = write() // errors of the stream are not reported
	}
	if p.screen.dropped > 0 {
		_ = p.write(func(w io.Writer) error {
			p.ensureNewline(w)
			_, err := fmt.Fprintf(w, "%s\n", p.Dim(fmt.Sprintf("· %d more lines are not shown; holdfast sessions show prints them", p.screen.dropped)))
			return err
		})
	}
	p.screen.asking, p.screen.held, p.screen.dropped = false, nil, 0
	_ = p.write(func(io.Writer) error { return nil }) // the progress line belongs to the question
}

// Bytes writes whole lines that are known to be safe for a terminal.
func (p *Printer) Bytes(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return p.put(func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Line writes a line. It ends an unfinished line first. Without args, format is written unchanged.
func (p *Printer) Line(format string, args ...any) {
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	_ = p.put(func(w io.Writer) error {
		p.ensureNewline(w)
		_, err := io.WriteString(w, s+"\n")
		return err
	})
}

// EndLine ends an unfinished line, if there is one.
func (p *Printer) EndLine() {
	_ = p.put(func(w io.Writer) error {
		p.ensureNewline(w)
		return nil
	})
}

func (p *Printer) ensureNewline(w io.Writer) {
	if p.screen.midLine {
		_, _ = io.WriteString(w, "\n")
		p.screen.wrote("\n")
	}
}

// Error writes an error, and its hint if there is one.
func (p *Printer) Error(msg, hint string) {
	if hint == "" { // some errors have a hint in their text
		msg, hint, _ = strings.Cut(msg, "; hint: ")
	}
	p.Line("%s %s", p.Red("holdfast:"), Escape(OneLine(msg)))
	p.Hint(hint)
}

// Hint writes a hint; "" writes nothing.
func (p *Printer) Hint(hint string) {
	if hint != "" {
		p.Line("%s %s", p.Bold("hint:"), Escape(OneLine(hint)))
	}
}

// Warn writes a message about a problem that does not end the command.
func (p *Printer) Warn(format string, args ...any) {
	p.Line("%s %s", p.Yellow("holdfast:"), Escape(OneLine(fmt.Sprintf(format, args...))))
}

// JSON writes one value on one line, or indented. Characters that could control a terminal are
// written as \u escapes, which mean the same.
func (p *Printer) JSON(v any, indent bool) error {
	b, err := MarshalJSON(v, indent)
	if err != nil {
		return err
	}
	return p.Bytes(append(b, '\n'))
}

// MarshalJSON encodes a value as [Printer.JSON] writes it, without the newline.
func MarshalJSON(v any, indent bool) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return EscapeJSON(strings.TrimSuffix(b.String(), "\n")), nil
}

// Stop removes the progress line until it is shown again, and writes the output that has waited.
func (p *Printer) Stop() {
	p.progress.stop()
	p.release()
}

// Progress returns the stream's progress line. It is nil, which is a valid value without effect, if
// the stream is not a terminal on which a line can be erased.
func (p *Printer) Progress() *Progress {
	if p.progress == nil && p.TTY && !p.Dumb {
		p.progress = &Progress{w: p.w, style: p.Style, screen: p.screen, after: interruptHint}
	}
	return p.progress
}

// Interrupting makes the progress line say what a second interrupt will do. Like Reset, it does not
// wait for a printer that is writing, because the user may have stopped the terminal's output.
func (p *Printer) Interrupting() {
	if !p.screen.mu.TryLock() {
		return
	}
	defer p.screen.mu.Unlock()
	if p.progress != nil {
		p.progress.after = " · interrupted, ctrl-c again ends it at once"
	}
}

// Reset prepares the terminal for the immediate end of the process. It erases the progress line, or
// else ends the current line, and prints a message. What the user was typing stays on the screen.
func (p *Printer) Reset() {
	if !p.TTY {
		return
	}
	mode := p.screen.leave.Load()
	if mode != nil {
		mode.leave()
	}
	if !p.screen.mu.TryLock() {
		return
	}
	defer p.screen.mu.Unlock()
	end := "\n"
	if p.progress != nil && p.progress.undo != "" && p.screen.draft == "" {
		if end = p.progress.erase(); p.screen.midLine {
			end += "\n"
		}
	}
	if mode != nil {
		end += pasteOff
	}
	_, _ = io.WriteString(p.w, end+"holdfast: ended at once\n")
}

// Echoed notes that the terminal has echoed something, such as ^C, unless a [Typing] has turned that
// off. The cursor is then not at the start of a line.
func (p *Printer) Echoed() {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.midLine = p.screen.midLine || !p.screen.typing
}

func (p *Printer) setMidLine(on bool) {
	p.screen.mu.Lock()
	p.screen.midLine, p.screen.line = on, ""
	p.screen.mu.Unlock()
}
