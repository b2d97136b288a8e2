// This file owns what reaches a stream: plain lines, the progress line, JSON,
// and errors. Messages are lower case, without a period; a hint is a command or
// an action and has its own line. Nothing else in the package writes to Stdout
// or Stderr, and everything foreign passes [shown] first.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// printer writes to one stream. When two printers share a terminal they share a
// lock and the knowledge of where the cursor is.
type printer struct {
	w     io.Writer
	term  terminal
	shape *shape

	spinner *spinner
	front   bool // of who asks a person: it does not wait for the answer
}

// shape is the state of a screen that printers may share.
type shape struct {
	mu      sync.Mutex
	midLine bool // the cursor is not at the start of a line

	asking bool           // a question is open: what others print waits, so that it stays in sight
	held   []func() error // what waits, in its order
	lost   int            // how much there was no room for
}

// maxHeld bounds what waits for an answer.
const maxHeld = 4096

func newPrinter(w io.Writer, t terminal) *printer {
	return &printer{w: w, term: t, shape: &shape{}}
}

// beside tells that both printers write to a terminal, which is then the same.
func (p *printer) beside(q *printer) {
	if p.term.tty && q.term.tty {
		p.shape = q.shape
		q.spinner = p.progress()
	}
}

// text writes text as it is, without a newline of its own.
func (p *printer) text(s string) {
	if s == "" {
		return
	}
	_ = p.put(func() error {
		_, err := io.WriteString(p.w, s)
		p.shape.midLine = !strings.HasSuffix(s, "\n")
		return err
	})
}

// put writes: now, or when the question that is open is answered.
func (p *printer) put(write func() error) error {
	p.shape.mu.Lock()
	defer p.shape.mu.Unlock()
	switch {
	case !p.shape.asking || p.front:
		p.spinner.erase()
		return write()
	case len(p.shape.held) < maxHeld:
		p.shape.held = append(p.shape.held, write)
	default:
		p.shape.lost++
	}
	return nil
}

// hold has what others print wait until release.
func (p *printer) hold() (release func()) {
	p.shape.mu.Lock()
	defer p.shape.mu.Unlock()
	p.shape.asking = true
	return p.release
}

// release writes what has waited.
func (p *printer) release() {
	p.shape.mu.Lock()
	defer p.shape.mu.Unlock()
	p.spinner.erase()
	for _, write := range p.shape.held {
		_ = write() // as without the wait, nobody can be told
	}
	if p.shape.lost > 0 {
		p.fresh()
		_, _ = fmt.Fprintf(p.w, "%s\n", p.term.dim(fmt.Sprintf("· %d more was not shown while you were asked; holdfast sessions show has it", p.shape.lost)))
	}
	p.shape.asking, p.shape.held, p.shape.lost = false, nil, 0
}

// bytes writes whole lines that are known to hold nothing that steers a terminal.
func (p *printer) bytes(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return p.put(func() error {
		_, err := p.w.Write(b)
		return err
	})
}

// line writes a line of its own: what stands unfinished is ended first.
func (p *printer) line(format string, args ...any) {
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	_ = p.put(func() error {
		p.fresh()
		_, err := io.WriteString(p.w, s+"\n")
		return err
	})
}

// endLine ends an unfinished line, if there is one.
func (p *printer) endLine() {
	_ = p.put(func() error {
		p.fresh()
		return nil
	})
}

func (p *printer) fresh() {
	if p.shape.midLine {
		_, _ = io.WriteString(p.w, "\n")
		p.shape.midLine = false
	}
}

// json writes one value on one line, or indented on a terminal. Characters that
// could steer a terminal are written as \u escapes, which mean the same.
func (p *printer) json(v any, indent bool) error {
	b, err := marshal(v, indent)
	if err != nil {
		return err
	}
	return p.bytes(append(b, '\n'))
}

func marshal(v any, indent bool) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return inertJSON(strings.TrimSuffix(b.String(), "\n")), nil
}

// stop ends the progress line for good, and lets nothing wait any more.
func (p *printer) stop() {
	p.spinner.stop()
	p.release()
}

// progress returns the stream's progress line; nil, which does nothing, when the
// stream is no terminal that could erase it again.
func (p *printer) progress() *spinner {
	if p.spinner == nil && p.term.tty && !p.term.dumb {
		p.spinner = newSpinner(p.w, p.term, p.shape)
	}
	return p.spinner
}

// interrupting has the progress line say what a second interrupt does. As with leave,
// who prints at this moment is not waited for: the terminal may be stopped.
func (p *printer) interrupting() {
	if !p.shape.mu.TryLock() {
		return
	}
	defer p.shape.mu.Unlock()
	if p.spinner != nil {
		p.spinner.after = " · interrupted, ctrl-c again ends it at once"
	}
}

// leave takes the progress line off the screen, or ends the line, before the process ends at
// once.
func (p *printer) leave() {
	if !p.term.tty || !p.shape.mu.TryLock() {
		return
	}
	defer p.shape.mu.Unlock()
	end := "\n"
	if p.spinner != nil && p.spinner.drawn {
		p.spinner.erase()
		end = ""
	}
	_, _ = io.WriteString(p.w, end+"holdfast: ended at once\n")
}

// failure is an error for a person: a message and what to do.
type failure struct {
	msg  string
	hint string
	out  outcome.Outcome
	err  error
}

func (f *failure) Error() string            { return f.msg }
func (f *failure) Hint() string             { return f.hint }
func (f *failure) Outcome() outcome.Outcome { return f.out }
func (f *failure) Unwrap() error            { return f.err }

// usage is the error of a command line that makes no sense.
func usage(msg, hint string) error {
	return &failure{msg: msg, hint: hint, out: outcome.Usage}
}

// fail tells an error and returns its exit code.
func (p *Program) fail(err error) int {
	out := outcome.Of(err)
	if _, told := errors.AsType[ended](err); told {
		return out.Exit
	}
	hint := outcome.Hint(err)
	if p.json {
		_ = p.err.json(errorDoc{Error: errorBody{Code: out.Code, Message: err.Error(), Hint: hint, Exit: out.Exit}}, false)
		return out.Exit
	}
	p.err.line("%s %s", p.err.term.red("holdfast:"), shown(oneLine(err.Error())))
	if hint != "" {
		p.err.line("%s %s", p.err.term.bold("hint:"), shown(oneLine(hint)))
	}
	return out.Exit
}

// warn tells something that does not end the command.
func (p *Program) warn(format string, args ...any) {
	p.err.line("%s %s", p.err.term.yellow("holdfast:"), shown(oneLine(fmt.Sprintf(format, args...))))
}

type errorDoc struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit_code"`
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// took writes a duration as people say it: "0.3 s", "2 min 5 s".
func took(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func (s *shape) setMidLine(on bool) {
	s.mu.Lock()
	s.midLine = on
	s.mu.Unlock()
}
