package term

import (
	"context"
	"os"
	"sync"
	"time"
)

// Typing reads what the user types while the program works, so that it neither mixes with the
// output nor reaches the shell. The terminal does not echo; the unfinished line is shown below the
// output. An open question takes the keyboard, and the unfinished line comes back after it. A nil
// Typing does nothing.
//
//	typing := t.Type(func(line string) { queue(line) }, interrupt)
//	defer func() { unsent := typing.Stop() … }()
type Typing struct {
	keys   *Keyboard
	out    *Printer
	enter  func(line string)
	escape func()

	mu      sync.Mutex // guards everything below: questions and Stop use it at the same time
	quit    chan struct{}
	done    sync.WaitGroup
	stopped bool

	draft draft // used by the goroutine; by others when it has ended
	raw   rawMode
	last  time.Time // when the last key was read; guarded by out.screen.mu
}

const (
	// typingPause is how long the user must not type before a question is shown, so that the next
	// characters of a text do not answer it.
	typingPause = 500 * time.Millisecond
	// typingLimit is how long a question waits for such a pause.
	typingLimit = 5 * time.Second

	pasteOn, pasteOff = "\x1b[?2004h", "\x1b[?2004l"
)

// Type starts to read what the user types. It calls enter with each line and escape when Esc is
// pressed, on another goroutine. It returns nil unless the program can read single keys and can
// draw in the terminal. The caller calls Stop.
func (t *Terminal) Type(enter func(line string), escape func()) *Typing {
	if !IsTerminal(t.in) || !t.Err.TTY || t.Err.Dumb {
		return nil
	}
	if t.keys == nil {
		t.keys = NewKeyboard(t.in)
	}
	if t.keys.tty == nil || !inForeground(t.keys.tty) {
		return nil
	}
	y := &Typing{keys: t.keys, out: t.Err, enter: enter, escape: escape}
	t.keys.typing = y
	y.resume()
	return y
}

// Stop restores the terminal. It returns the line that was not finished, and discards what the
// terminal has not delivered yet.
func (y *Typing) Stop() (unfinished string) {
	if y == nil {
		return ""
	}
	y.pause()
	y.mu.Lock()
	defer y.mu.Unlock()
	y.stopped = true
	y.draft.pasting = true // an Enter that no one handles any more
	y.drain()
	flushIfForeground(y.keys.tty)
	return y.draft.text
}

// drain adds what was already read to the draft.
func (y *Typing) drain() {
	for {
		select {
		case c, ok := <-y.keys.typed:
			if !ok {
				return
			}
			y.draft.feed(c)
		default:
			return
		}
	}
}

// yield waits until the user does not type, and gives the keyboard to a question.
func (y *Typing) yield(ctx context.Context) {
	if y == nil {
		return
	}
	limit := time.NewTimer(typingLimit)
	defer limit.Stop()
	for {
		y.out.screen.mu.Lock()
		wait := typingPause - time.Since(y.last)
		y.out.screen.mu.Unlock()
		if wait <= 0 {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		timer.Stop()
		break
	}
	y.pause()
}

// pause ends the goroutine, hides the draft and restores the terminal.
func (y *Typing) pause() {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.quit == nil {
		return
	}
	close(y.quit)
	y.done.Wait()
	y.quit = nil
	y.leave()
}

// resume continues after pause.
func (y *Typing) resume() {
	if y == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.stopped || y.quit != nil {
		return
	}
	if !y.begin() {
		return
	}
	y.quit = make(chan struct{})
	y.done.Go(func() { y.read(y.quit) })
}

// begin takes the terminal from the shell's settings to those of typing.
func (y *Typing) begin() bool {
	if !inForeground(y.keys.tty) || y.raw.enter(y.keys.tty) != nil {
		return false
	}
	s := y.out.screen
	s.leave.Store(&y.raw)
	y.out.control(pasteOn, func() { s.typing, s.draft = true, y.draft.text })
	return true
}

// leave undoes begin.
func (y *Typing) leave() {
	s := y.out.screen
	if s.leave.Swap(nil) == nil {
		return
	}
	y.out.control(pasteOff, func() { s.typing, s.draft = false, "" })
	y.raw.leave()
}

// read reads keys until quit is closed or the input ends.
func (y *Typing) read(quit <-chan struct{}) {
	defer func() { // a crash must not leave a terminal without echo
		if e := recover(); e != nil {
			y.raw.leave()
			panic(e)
		}
	}()
	y.keys.start()
	resumed, done := continued()
	defer done()
	for {
		silence := time.NewTimer(escapeDelay)
		if len(y.draft.esc) == 0 {
			silence.Stop()
		}
		select {
		case <-quit:
			silence.Stop()
			return
		case <-resumed: // after a signal from another program, or our own stop
			y.begin()
		case <-silence.C:
			if y.draft.silent() {
				y.escape()
			}
		case c, ok := <-y.keys.typed:
			if !ok {
				return
			}
			y.key(c, quit)
		}
		silence.Stop()
	}
}

// The keys Ctrl-\ and Ctrl-Z. The terminal does not send their signals, so that it can be restored
// first.
const (
	quitKey = 0x1c
	stopKey = 0x1a
)

// key processes one byte and shows the draft.
func (y *Typing) key(c byte, quit <-chan struct{}) {
	switch {
	case y.draft.pasting:
	case c == quitKey:
		y.leave()
		quitSelf()
		return
	case c == stopKey:
		y.suspend(quit)
		return
	}
	line, entered := y.draft.feed(c)
	s := y.out.screen
	y.out.control("", func() {
		y.last = time.Now()
		if len(y.keys.typed) == 0 || entered { // pasted text is shown once
			s.draft = y.draft.text
		}
	})
	if entered {
		y.enter(line)
	}
}

// suspend stops the process as Ctrl-Z does, with the terminal as the shell left it. It returns when
// the process is in the foreground again.
func (y *Typing) suspend(quit <-chan struct{}) {
	y.leave()
	stopSelf()
	y.out.setMidLine(false) // the shell has used the screen
	check := time.NewTicker(foregroundCheck)
	defer check.Stop()
	for !y.begin() { // `bg` continues the run without the terminal
		select {
		case <-quit:
			return
		case <-check.C:
		}
	}
}

// foregroundCheck is how often a program in the background looks whether it has the terminal again.
const foregroundCheck = 200 * time.Millisecond

// waitForeground waits for input that this process may read. A read in the background would stop
// the process.
func waitForeground(f *os.File) {
	for waitInput(f) && !inForeground(f) {
		time.Sleep(foregroundCheck)
	}
}

func flushIfForeground(f *os.File) {
	if inForeground(f) {
		flushInput(f)
	}
}
