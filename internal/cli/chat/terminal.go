package chat

import (
	"context"
	"errors"
	"os"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/holdfast-dev/holdfast/internal/term/input"
	"github.com/holdfast-dev/holdfast/internal/term/live"
)

// frameTime is the shortest time between two frames without a key. A key is drawn at once.
const frameTime = 40 * time.Millisecond

// screen connects a ui to the terminal.
type screen struct {
	u       *ui
	in, out *os.File
	keys    *input.Reader
	draw    *live.Screen
	whole   bool // the alternate screen is on
	stopped bool // the shell has the terminal
	asked   bool // the terminal for its background
	drawn   time.Time
}

// loop runs until the user leaves. A key is drawn at once, everything else at most every frameTime.
func (s *screen) loop(ctx context.Context) error {
	defer func() {
		if v := recover(); v != nil { // the user must see why, in a usable terminal
			_ = s.close()
			panic(v)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	at := time.Now() // when to draw; zero: nothing changed
	for !s.u.leaving {
		if !at.IsZero() && !time.Now().Before(at) && len(s.keys.Events()) == 0 {
			if err := s.paint(); err != nil {
				return err
			}
			at = s.u.nextChange(s.drawn)
		}
		wait := time.Hour
		if !at.IsZero() {
			wait = time.Until(at)
		}
		timer.Reset(wait)
		due := time.Now()
		select {
		case e, ok := <-s.keys.Events():
			if !ok {
				return nil
			}
			if err := s.input(e); err != nil {
				return err
			}
		case then := <-s.u.done:
			then()
		case a := <-s.u.inbox.Answers():
			s.u.answered(a)
		case then := <-s.u.events:
			then()
			due = s.drawn.Add(frameTime)
		case <-timer.C:
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := s.lendWhereNeeded(); err != nil {
			return err
		}
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return s.paint()
}

// input takes what the terminal sends.
func (s *screen) input(e uv.Event) error {
	switch e := e.(type) {
	case uv.KeyPressEvent:
		k, ok := s.u.translate(keyOf(e))
		switch {
		case !ok:
		case k.Ctrl && k.Code == 'z':
			return s.suspend()
		default:
			s.u.key(k)
		}
	case uv.MouseWheelEvent:
		s.u.wheel(map[uv.MouseButton]string{uv.MouseWheelUp: "up", uv.MouseWheelDown: "down"}[e.Button])
	case uv.PasteEvent:
		s.u.paste(e.Content)
	case uv.WindowSizeEvent:
		s.resize(e.Width, e.Height)
	case uv.BackgroundColorEvent:
		s.u.background(!e.IsDark())
	case uv.FocusEvent:
		s.u.focused = true
	case uv.BlurEvent:
		s.u.focused = false
	case input.Resumed:
		s.stopped, s.asked = false, false
		s.draw.Forget()
	}
	return nil
}

// resize takes the terminal's new size.
func (s *screen) resize(width, height int) {
	s.u.width, s.u.height = max(width, 20), max(height, 6)
	s.draw.Resize(width, height)
}

// paint draws a frame. It looks at the size first: a frame for an old size would overwrite finished
// rows, because the terminal has wrapped them again, and the event of the change can come later.
func (s *screen) paint() error {
	s.drawn = time.Now()
	if s.stopped {
		return nil
	}
	if width, height, ok := s.keys.Size(); ok {
		s.resize(width, height)
	}
	if err := s.keys.Mouse(s.u.mouse); err != nil {
		return err
	}
	f := s.u.frame()
	if f.whole != s.whole {
		s.whole = f.whole
		if err := s.draw.Alternate(f.whole); err != nil {
			return err
		}
	}
	for _, r := range f.rows {
		if r == clearScreen {
			s.draw.Clear()
			continue
		}
		s.draw.Print(r)
	}
	if err := s.draw.Draw(f.lines, f.cursor); err != nil {
		return err
	}
	if out := s.u.signals(); out != "" {
		if _, err := s.out.WriteString(out); err != nil {
			return err
		}
	}
	if s.u.asksBackground() && !s.asked { // the first frame does not wait for the answer
		s.asked = true
		return s.keys.AskBackground()
	}
	return nil
}

func (s *screen) suspend() error {
	s.whole, s.stopped = false, true // Close leaves the alternate screen; the stop can come a moment later
	if err := s.draw.Close(); err != nil {
		return err
	}
	return s.keys.Suspend()
}

// lendWhereNeeded gives the terminal to what needs it.
func (s *screen) lendWhereNeeded() error {
	do := s.u.borrow
	if s.u.borrow = nil; do == nil {
		return nil
	}
	return s.lend(do)
}

// lend gives the terminal to something else and takes it back.
func (s *screen) lend(do func()) (err error) {
	if s.whole {
		s.whole = false
		err = s.draw.Alternate(false)
	}
	if err = errors.Join(err, s.draw.Close(), s.keys.Close()); err != nil {
		return err
	}
	do()
	s.draw.Forget()
	s.asked = false
	keys, err := input.Open(s.in, s.out)
	if err == nil {
		s.keys = keys
	}
	return err
}

// close gives the terminal back, also if drawing panics.
func (s *screen) close() (err error) {
	defer func() { err = errors.Join(err, s.keys.Close()) }()
	if s.whole {
		err = s.draw.Alternate(false)
	}
	return errors.Join(err, s.draw.Close())
}
