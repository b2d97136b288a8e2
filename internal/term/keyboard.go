package term

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// Keyboard reads what the user types, one key or one line at a time. Input that was typed before a
// question was on the screen is discarded, because it cannot be the answer to that question.
type Keyboard struct {
	in        io.Reader
	tty       *os.File  // nil if single keys are not available; then the user must press Enter after every key
	typed     chan byte // nil before the first read; closed at the end of the input
	taken     chan struct{}
	showAgain func() // function that shows the question again, or nil
	typing    *Typing
	dialog    *Dialog // gets the keys from the program instead of in, or nil
}

// NewKeyboard returns a keyboard that reads in.
func NewKeyboard(in io.Reader) *Keyboard {
	k := &Keyboard{in: in, taken: make(chan struct{}, 1)}
	if f, ok := in.(*os.File); ok && singleKeys {
		k.tty = f
	}
	return k
}

// turn waits until no other question is open, because the same user answers all questions. The
// caller calls done after the answer.
func (k *Keyboard) turn(ctx context.Context) (done func(), err error) {
	select {
	case k.taken <- struct{}{}:
		return func() { <-k.taken }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// flush discards what was typed so far.
func (k *Keyboard) flush() {
	if k.tty != nil {
		flushInput(k.tty)
	}
	for {
		select {
		case _, ok := <-k.typed:
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// escapeDelay is how long to wait for another byte after a key. Bytes that arrive together come
// from pasted text or from a key that sends several bytes, such as an arrow key.
const escapeDelay = 25 * time.Millisecond

// key waits for one key. If single keys are not available, it waits for a line of one character.
// For any other input it returns 0. ok is false at the end of the input; the error is the cause of
// ctx.
func (k *Keyboard) key(ctx context.Context) (key byte, ok bool, err error) {
	if k.dialog != nil {
		text, err := k.dialog.wait(NeedsKey)
		return text[0], err == nil, err
	}
	if k.tty == nil {
		line, ok, err := k.line(ctx)
		if line = strings.TrimSpace(line); len(line) != 1 {
			return 0, ok, err
		}
		return line[0], ok, err
	}
	restore, err := rawKeys(k.tty)
	if err != nil {
		k.tty = nil
		return k.key(ctx)
	}
	defer restore()
	resumed, done := continued()
	defer done()
	for {
		key, ok, err = k.next(ctx, resumed)
		if errors.Is(err, errResumed) { // the shell has used the terminal while the program was stopped
			if _, err := rawKeys(k.tty); err != nil {
				return 0, false, err
			}
			k.flush()
			if k.showAgain != nil {
				k.showAgain()
			}
			continue
		}
		if !ok || err != nil {
			return 0, ok, err
		}
		break
	}
	for more := false; ; more = true {
		silence := time.NewTimer(escapeDelay)
		select {
		case _, open := <-k.typed:
			silence.Stop()
			if !open {
				return 0, false, nil
			}
		case <-silence.C:
			if more {
				key = 0
			}
			return key, true, nil
		}
	}
}

// line waits for a line and returns it without its newline.
func (k *Keyboard) line(ctx context.Context) (string, bool, error) {
	if k.dialog != nil {
		line, err := k.dialog.wait(NeedsLine)
		return line, err == nil, err
	}
	var b strings.Builder
	for {
		c, ok, err := k.next(ctx, nil)
		if !ok || err != nil { // a line without a newline is no answer
			return "", false, err
		}
		if c == '\n' {
			return strings.TrimRight(b.String(), "\r"), true, nil
		}
		b.WriteByte(c)
	}
}

// errResumed means that the program was stopped and continues.
var errResumed = errors.New("the program continues")

func (k *Keyboard) next(ctx context.Context, resumed <-chan os.Signal) (byte, bool, error) {
	k.start()
	select {
	case c, ok := <-k.typed:
		return c, ok, nil
	case <-resumed:
		return 0, false, errResumed
	case <-ctx.Done():
		return 0, false, context.Cause(ctx)
	}
}

// start starts the reader if it does not run yet.
func (k *Keyboard) start() {
	if k.typed == nil {
		k.typed = make(chan byte, 4096)
		go readBytes(k.in, k.tty, k.typed) // the goroutine ends at the end of its input, or with the process
	}
}

func readBytes(r io.Reader, tty *os.File, typed chan<- byte) {
	defer close(typed)
	buf := make([]byte, 512)
	for {
		if tty != nil {
			waitForeground(tty)
		}
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			typed <- c
		}
		if err != nil {
			return
		}
	}
}
