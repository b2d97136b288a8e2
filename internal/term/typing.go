package term

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
)

// Typing reads what the user types while the program works, so that it neither mixes with the
// output nor reaches the shell. The terminal does not echo; the unfinished text is shown below the
// output. An open question takes the keyboard, and the unfinished text comes back after it. What was
// typed before the program read the keyboard becomes unfinished text, because the user did not type
// it for the program. A dumb terminal echoes and delivers whole lines. A nil Typing does nothing.
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

	draft draft  // used by the goroutine; by others when it has ended
	early string // in a dumb terminal: what was typed before the program read the keyboard
	lines bool   // the terminal delivers whole lines
	raw   rawMode
	last  time.Time // when the last key was read; guarded by out.screen.mu
}

const (
	// typingPause is how long the user must not type before a question is shown, so that the next
	// characters of a text do not answer it.
	typingPause = 500 * time.Millisecond

	pasteOn, pasteOff    = "\x1b[?2004h", "\x1b[?2004l"
	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
)

// Type starts to read what the user types. It calls enter with each text and escape when Esc is
// pressed, on another goroutine. It returns nil unless the program can read single keys and shows
// its output in a terminal. The caller calls Stop.
func (t *Terminal) Type(enter func(text string), escape func()) *Typing {
	if !IsTerminal(t.in) || !t.Err.TTY {
		return nil
	}
	if t.keys == nil {
		t.keys = NewKeyboard(t.in)
	}
	if t.keys.tty == nil || !inForeground(t.keys.tty) {
		return nil
	}
	y := &Typing{keys: t.keys, out: t.Err, enter: enter, escape: escape, lines: t.Err.Dumb}
	t.keys.typing = y
	y.readEarly()
	y.resume()
	return y
}

// readEarly reads what was typed before now.
func (y *Typing) readEarly() {
	if y.raw.enter(y.keys.tty, false) != nil || y.keys.typed == nil && unread(y.keys.tty) == 0 { // an unfinished line is input in this mode only
		return
	}
	y.keys.start()
	for _, e := range y.draft.keys.Feed(slices.Concat([]byte(pasteStart), y.arrived(), []byte(pasteEnd))) {
		y.draft.press(e)
	}
	y.draft.text = strings.TrimLeftFunc(y.draft.text, unicode.IsSpace)
	if y.lines {
		y.early = y.draft.take()
	}
}

// Stop restores the terminal. It returns the text that was not finished.
func (y *Typing) Stop() (unfinished string) {
	if y == nil {
		return ""
	}
	y.mu.Lock()
	if y.lines && y.quit != nil {
		_ = y.raw.enter(y.keys.tty, false)
	}
	y.mu.Unlock()
	y.pause()
	y.mu.Lock()
	defer y.mu.Unlock()
	y.stopped = true
	for _, e := range y.draft.keys.Feed([]byte(pasteEnd)) { // an open paste
		y.draft.press(e)
	}
	return strings.TrimSpace(y.early + "\n" + y.draft.take())
}

const (
	// arrivalDelay is how long a byte can be on its way from the terminal to the program.
	arrivalDelay = 2 * time.Millisecond
	arrivalLimit = 200 * time.Millisecond
)

// arrived returns what the user has typed until now and was not processed.
func (y *Typing) arrived() (b []byte) {
	for start := time.Now(); time.Since(start) < arrivalLimit; {
		silence := time.NewTimer(arrivalDelay)
		select {
		case c, ok := <-y.keys.typed:
			silence.Stop()
			if !ok {
				return b
			}
			b = append(b, c)
			continue
		case <-silence.C:
		}
		if unread(y.keys.tty) == 0 {
			return b
		}
	}
	return b
}

// chunk returns a byte and those that have arrived after it.
func (y *Typing) chunk(first byte) []byte {
	b := []byte{first}
	for {
		select {
		case c, ok := <-y.keys.typed:
			if !ok {
				return b
			}
			b = append(b, c)
		default:
			return b
		}
	}
}

// yield waits until the user does not type, and gives the keyboard to a question.
func (y *Typing) yield(ctx context.Context) {
	if y == nil {
		return
	}
	for ctx.Err() == nil {
		y.out.screen.mu.Lock()
		wait := typingPause - time.Since(y.last)
		y.out.screen.mu.Unlock()
		if wait <= 0 {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
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
	if y.out.screen.leave.Load() != nil {
		y.press(y.draft.keys.Feed(y.arrived()), nil)
		y.draft.keys.Flush() // an incomplete key
		flushInput(y.keys.tty)
	}
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
	if !inForeground(y.keys.tty) || y.raw.enter(y.keys.tty, y.lines) != nil {
		return false
	}
	s := y.out.screen
	s.leave.Store(&y.raw)
	if !y.lines {
		y.out.control(pasteOn, func() { s.typing, s.draft = true, y.draft.text })
	}
	return true
}

// leave undoes begin.
func (y *Typing) leave() {
	s := y.out.screen
	if s.leave.Swap(nil) == nil {
		return
	}
	if !y.lines {
		y.out.control(pasteOff, func() { s.typing, s.draft = false, "" })
	}
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
		wait := y.draft.keys.Wait()
		silence := time.NewTimer(wait)
		if wait == 0 {
			silence.Stop()
		}
		select {
		case <-quit:
			silence.Stop()
			return
		case <-resumed: // after a signal from another program, or our own stop
			y.begin()
		case <-silence.C:
			y.press(y.draft.keys.Flush(), quit)
		case c, ok := <-y.keys.typed:
			if !ok {
				return
			}
			y.press(y.draft.keys.Feed(y.chunk(c)), quit)
		}
		silence.Stop()
	}
}

// press processes events of the keyboard and shows the draft. If quit is nil, the keyboard is about
// to be left, so that only text matters. The terminal does not send the signals of Ctrl-Z and
// Ctrl-\, so that it can be restored first.
func (y *Typing) press(events []uv.Event, quit <-chan struct{}) {
	y.out.screen.mu.Lock()
	y.last = time.Now()
	y.out.screen.mu.Unlock()
	for _, e := range events {
		name := y.draft.press(e)
		switch name {
		case "enter", "ctrl+j":
			text := y.draft.take()
			y.show()
			if text != "" {
				y.enter(text)
			}
			continue
		}
		if quit == nil {
			continue
		}
		switch name {
		case "esc":
			y.show()
			y.escape()
		case "ctrl+\\":
			y.leave()
			quitSelf()
		case "ctrl+z":
			y.suspend(quit)
		}
	}
	y.show()
}

// show draws the draft. In a dumb terminal, Enter has moved the cursor to the next line.
func (y *Typing) show() {
	s := y.out.screen
	if y.lines {
		y.out.setMidLine(false)
		return
	}
	y.out.control("", func() { s.draft = y.draft.text })
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
