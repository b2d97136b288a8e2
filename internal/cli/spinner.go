package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// spinner is the progress line of a terminal. It appears when nothing was
// printed for a while and is erased before anything else is. A nil spinner does
// nothing. stop ends its goroutine.
type spinner struct {
	w     io.Writer
	term  terminal
	shape *shape

	quit chan struct{}
	done sync.WaitGroup
	once sync.Once

	// Guarded by shape.mu.
	what  string
	more  func() string // behind it, each time it is drawn; nil: nothing
	after string        // what an interrupt does
	since time.Time
	quiet time.Time // nothing is drawn before
	drawn bool
}

const (
	spinnerPatience = 600 * time.Millisecond
	spinnerPeriod   = 120 * time.Millisecond
)

func newSpinner(w io.Writer, t terminal, s *shape) *spinner {
	return &spinner{w: w, term: t, shape: s, after: " · ctrl-c interrupts"}
}

// work says what is being waited for; "" means nothing.
func (s *spinner) work(what string) {
	if s == nil {
		return
	}
	s.shape.mu.Lock()
	defer s.shape.mu.Unlock()
	s.eraseLocked()
	now := time.Now()
	s.what, s.since, s.quiet = what, now, now.Add(spinnerPatience)
	if what != "" && s.quit == nil {
		s.quit = make(chan struct{})
		s.done.Go(s.turn)
	}
}

// follow says what is shown behind what is being waited for. It is called often, and
// by another goroutine.
func (s *spinner) follow(more func() string) {
	if s == nil {
		return
	}
	s.shape.mu.Lock()
	defer s.shape.mu.Unlock()
	s.more = more
}

func (s *spinner) turn() {
	tick := time.NewTicker(spinnerPeriod)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-s.quit:
			return
		case now := <-tick.C:
			s.draw(i, now)
		}
	}
}

func (s *spinner) draw(i int, now time.Time) {
	s.shape.mu.Lock()
	defer s.shape.mu.Unlock()
	if s.what == "" || s.shape.midLine || s.shape.asking || now.Before(s.quiet) {
		return
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	what := s.what
	if s.more != nil {
		what += s.more()
	}
	text := fmt.Sprintf("%c %s %d s%s", frames[i%len(frames)], what, int(now.Sub(s.since).Seconds()), s.after)
	fmt.Fprintf(s.w, "\r\x1b[K%s", s.term.dim(clipWidth(text, s.term.columns()-1)))
	s.drawn = true
}

// erase takes the line off the screen. The caller holds shape.mu.
func (s *spinner) erase() {
	if s == nil {
		return
	}
	s.eraseLocked()
	s.quiet = time.Now().Add(spinnerPatience)
}

func (s *spinner) eraseLocked() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *spinner) stop() {
	if s == nil {
		return
	}
	s.work("")
	s.once.Do(func() {
		if s.quit != nil {
			close(s.quit)
		}
	})
	s.done.Wait()
}

// clipWidth cuts s to n characters.
func clipWidth(s string, n int) string {
	r := []rune(s)
	if len(r) <= n || n < 1 {
		return s
	}
	return string(r[:n-1]) + "…"
}
