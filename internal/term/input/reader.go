// Package input reads a terminal in raw mode: keys, pasted text, focus and size, as events of
// [uv.Event].
//
//	r, err := input.Open(os.Stdin, os.Stdout)
//	if err != nil { … }
//	defer r.Close()
//	for e := range r.Events() {
//		switch e := e.(type) {
//		case uv.KeyPressEvent: …   // ctrl+c and ctrl+z are keys too
//		case uv.PasteEvent: …      // newlines are \n; the text can have control characters
//		case uv.WindowSizeEvent: … // also the first event, if the size is known
//		case input.Resumed: …      // draw everything again
//		}
//	}
//
// The package does not draw.
package input

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/term"
)

// Resumed is the event after the program was stopped and continues. The shell has used the terminal
// in between.
type Resumed struct{}

const (
	// stopDelay is how long Suspend waits for the end of the stop. The system ignores a stop if no shell
	// could continue the program; the terminal must then be raw again.
	stopDelay = 200 * time.Millisecond

	// continueDelay is how much longer it waits then. stopDelay also ends while the program is stopped,
	// and the signal that continues the program can come later than the end of a timer.
	continueDelay = 50 * time.Millisecond

	// The modes are bracketed paste, focus events, and unambiguous keys (kitty's protocol, which other
	// terminals ignore). Leaving also ends what a frame has begun: synchronized output, no wrapping and a
	// hidden cursor.
	enterModes = "\x1b[?2004h\x1b[?1004h\x1b[>1u"
	mouseModes = "\x1b[?1000h\x1b[?1006h"
	mouseOff   = "\x1b[?1006l\x1b[?1000l"
	// The second question is for terminals that do not answer the first one: they answer the second.
	askBackground = "\x1b]11;?\x1b\\\x1b[c"
	leaveModes    = mouseOff + "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?7h\x1b[?25h"
)

// Reader reads a terminal. Its methods are safe for concurrent use.
type Reader struct {
	in     *os.File
	out    io.Writer
	size   func() (width, height int, err error)
	bytes  uvReader
	events chan uv.Event
	quit   chan struct{}
	reads  sync.WaitGroup // the goroutine that reads bytes
	loops  sync.WaitGroup // the goroutine that makes events of them
	stop   func() error   // stops the process until the user continues it
	retry  *time.Timer    // runs after Suspend

	mu     sync.Mutex
	old    *term.State
	raw    bool
	mouse  bool // the terminal reports the wheel and clicks
	closed bool

	asked    time.Time     // when the terminal was asked for its background
	answered chan struct{} // closed by the end of its answers; nil if nothing was asked
}

// uvReader is a reader whose Read ends when it is canceled.
type uvReader interface {
	io.ReadCloser
	Cancel() bool
}

// Open puts the terminal in into raw mode and starts to read it. It writes the terminal's modes to
// out.
func Open(in, out *os.File) (*Reader, error) {
	old, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	cancelable, err := uv.NewCancelReader(in)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		in: in, out: out, bytes: cancelable, old: old, stop: stopProcess,
		size:   func() (int, int, error) { return term.GetSize(int(out.Fd())) },
		events: make(chan uv.Event, 64), quit: make(chan struct{}), retry: time.NewTimer(time.Hour),
	}
	if err := r.enter(); err != nil {
		return nil, errors.Join(err, r.leave(), cancelable.Close())
	}
	chunks := make(chan []byte)
	r.reads.Go(func() { r.read(chunks) })
	signals, done := watch()
	r.loops.Go(func() {
		defer done()
		r.loop(chunks, signals)
	})
	return r, nil
}

// Events returns the channel of events. It is closed at the end of the input and by Close.
func (r *Reader) Events() <-chan uv.Event { return r.events }

func (r *Reader) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if r.raw {
		_, _ = io.WriteString(r.out, leaveModes) // kitty's modes are a stack
	}
	if _, err := term.MakeRaw(int(r.in.Fd())); err != nil {
		return err
	}
	r.raw = true
	modes := enterModes
	if r.mouse {
		modes += mouseModes
	}
	_, err := io.WriteString(r.out, modes)
	return err
}

// Mouse lets the terminal report the mouse wheel and clicks, or not.
func (r *Reader) Mouse(on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mouse == on || !r.raw {
		return nil
	}
	r.mouse = on
	_, err := io.WriteString(r.out, map[bool]string{true: mouseModes, false: mouseOff}[on])
	return err
}

// AskBackground asks the terminal for its background. A [uv.BackgroundColorEvent] follows if the
// terminal answers.
func (r *Reader) AskBackground() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.raw || r.answered != nil {
		return nil
	}
	r.asked, r.answered = time.Now(), make(chan struct{})
	_, err := io.WriteString(r.out, askBackground)
	return err
}

// answerDelay is how long an answer of the terminal can take.
const answerDelay = time.Second

// awaitAnswer waits for an answer that is on its way, which would become typed text in the shell.
func (r *Reader) awaitAnswer() {
	r.mu.Lock()
	answered, wait := r.answered, answerDelay-time.Since(r.asked)
	r.mu.Unlock()
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-time.After(wait):
	}
}

// hear takes the end of the terminal's answers, and returns the other events.
func (r *Reader) hear(events []uv.Event) []uv.Event {
	return slices.DeleteFunc(events, func(e uv.Event) bool {
		_, end := e.(uv.PrimaryDeviceAttributesEvent)
		if !end {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.answered != nil {
			close(r.answered)
			r.answered = nil
		}
		return true
	})
}

// leave restores the terminal. It is called more than once.
func (r *Reader) leave() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.raw {
		return nil
	}
	r.raw = false
	_, _ = io.WriteString(r.out, leaveModes)
	return term.Restore(int(r.in.Fd()), r.old)
}

// Close restores the terminal and ends the events. What was typed and not read stays in the terminal.
// When it returns, the Reader uses the files no longer, unless the system cannot end a read.
func (r *Reader) Close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if again {
		return nil
	}
	r.awaitAnswer()
	close(r.quit)
	r.loops.Wait()
	var err error
	if r.bytes.Cancel() {
		r.reads.Wait()
		err = r.bytes.Close()
	}
	return errors.Join(r.leave(), err)
}

// Suspend restores the terminal and stops the program, as Ctrl-Z does in a shell. The caller erases
// its live block first. A [Resumed] event follows when the program continues.
func (r *Reader) Suspend() error {
	r.awaitAnswer()
	if err := r.leave(); err != nil {
		return err
	}
	defer r.retry.Reset(stopDelay)
	return r.stop()
}

// Guard restores the terminal when the goroutine that defers it panics, so that the user sees the
// panic and gets a usable shell:
//
//	defer r.Guard()
func (r *Reader) Guard() {
	if p := recover(); p != nil {
		_ = r.leave()
		panic(p)
	}
}

func (r *Reader) read(chunks chan<- []byte) {
	defer close(chunks)
	defer r.Guard()
	for {
		buf := make([]byte, 4096)
		n, err := r.bytes.Read(buf)
		if n > 0 {
			select {
			case chunks <- buf[:n]:
			case <-r.quit:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop decodes bytes and follows the signals of the terminal.
func (r *Reader) loop(chunks <-chan []byte, signals <-chan os.Signal) {
	defer close(r.events)
	defer r.Guard()
	var d Decoder
	silence := time.NewTimer(time.Hour)
	defer silence.Stop()
	defer r.retry.Stop()
	if !r.sendSize() {
		return
	}
	waited := false // stopDelay has ended
	for {
		var events []uv.Event
		select {
		case b, ok := <-chunks:
			if !ok {
				r.send(d.Flush()...)
				return
			}
			events = d.Feed(b)
		case <-silence.C:
			events = d.Flush()
		case s := <-signals:
			if isContinue(s) {
				waited = false
				if !r.resume() {
					return
				}
			}
			if !r.sendSize() {
				return
			}
			continue
		case <-r.retry.C:
			switch {
			case r.isRaw():
				waited = false
			case !waited:
				waited = true
				r.retry.Reset(continueDelay)
			default:
				waited = false
				if !r.resume() {
					return
				}
			}
			continue
		case <-r.quit:
			return
		}
		if !r.send(r.hear(events)...) {
			return
		}
		if wait := d.Wait(); wait > 0 {
			silence.Reset(wait)
		} else {
			silence.Stop()
		}
	}
}

// resume takes the terminal back from the shell. If that fails, the program still gets whole lines.
func (r *Reader) resume() bool {
	_ = r.enter()
	return r.send(Resumed{})
}

func (r *Reader) isRaw() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw
}

func (r *Reader) send(events ...uv.Event) bool {
	for _, e := range events {
		select {
		case r.events <- e:
		case <-r.quit:
			return false
		}
	}
	return true
}

// Size returns the size of the terminal now. ok is false if it is not known.
func (r *Reader) Size() (width, height int, ok bool) {
	w, h, err := r.size()
	return w, h, err == nil && w > 0 && h > 0
}

func (r *Reader) sendSize() bool {
	w, h, err := r.size()
	if err != nil || w <= 0 || h <= 0 {
		return true
	}
	return r.send(uv.WindowSizeEvent{Width: w, Height: h})
}
