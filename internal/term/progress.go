package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is the progress line of a terminal. It appears if nothing was printed for a while. It is
// erased before anything else is printed. A nil Progress does nothing. [Printer.Stop] ends its
// goroutine.
type Progress struct {
	w      io.Writer
	style  Style
	screen *screen

	done sync.WaitGroup

	// Guarded by screen.mu.
	quit   chan struct{} // nil if the goroutine does not run
	what   string
	detail func() string // returns the text after what; it is called each time the line is drawn
	after  string        // says what an interrupt will do
	since  time.Time
	quiet  time.Time // the line is not drawn before this time
	undo   string    // removes what was drawn and moves the cursor back; "" if nothing was drawn
	wraps  bool      // the cursor moves back to the start of the line after a full line
}

const (
	progressDelay  = 600 * time.Millisecond
	progressPeriod = 120 * time.Millisecond
)

// Show sets the text that says what the program is waiting for; "" means nothing.
func (p *Progress) Show(what string) {
	if p == nil {
		return
	}
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if p.screen.draft == "" && p.undo != "" {
		_, _ = io.WriteString(p.w, p.clear())
	}
	now := time.Now()
	p.what, p.since, p.quiet = what, now, now.Add(progressDelay)
	if what != "" && p.quit == nil {
		quit := make(chan struct{})
		p.quit = quit
		p.done.Go(func() { p.animate(quit) })
	}
}

// Detail sets the text after that of Show. The function detail is called often, in another
// goroutine. If it is nil, the text is removed.
func (p *Progress) Detail(detail func() string) {
	if p == nil {
		return
	}
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.detail = detail
}

func (p *Progress) animate(quit <-chan struct{}) {
	tick := time.NewTicker(progressPeriod)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-quit:
			return
		case now := <-tick.C:
			p.draw(i, now)
		}
	}
}

func (p *Progress) draw(i int, now time.Time) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if p.what == "" || p.screen.midLine || p.screen.asking || p.screen.draft != "" || now.Before(p.quiet) {
		return
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	what := p.what
	if p.detail != nil {
		what += p.detail()
	}
	after := p.after
	if p.screen.typing && after == interruptHint {
		after = " · esc interrupts, text is queued"
	}
	text := fmt.Sprintf("%c %s %d s%s", frames[i%len(frames)], what, int(now.Sub(p.since).Seconds()), after)
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.style.Dim(Clip(text, p.style.Columns()-1)))
	p.undo = eraseLine
}

const (
	interruptHint = " · ctrl-c interrupts"
	eraseLine     = "\r\x1b[K"
)

// drawDraft returns what draws the draft of the user, in place of the progress line or below an
// unfinished line. The caller holds screen.mu and writes it.
func (p *Progress) drawDraft() string {
	s := p.screen
	if s.draft == "" || s.asking {
		return ""
	}
	columns := p.style.Columns()
	text := p.style.Bold("> ") + tail(s.draft, columns-3)
	p.undo = eraseLine
	if !s.midLine {
		return eraseLine + text
	}
	if col := column(s.line, columns); col < columns {
		p.undo += fmt.Sprintf("\x1b[A\x1b[%dG", col+1)
	} else {
		p.wraps = true
	}
	return "\n" + eraseLine + text
}

// erase returns what removes the line from the screen. The caller holds screen.mu and writes it.
func (p *Progress) erase() string {
	p.quiet = time.Now().Add(progressDelay)
	return p.clear()
}

func (p *Progress) clear() (undo string) {
	undo = p.undo
	if p.wraps {
		p.screen.midLine, p.screen.line = false, ""
	}
	p.undo, p.wraps = "", false
	return undo
}

func (p *Progress) stop() {
	if p == nil {
		return
	}
	p.Show("")
	p.screen.mu.Lock()
	quit := p.quit
	p.quit = nil
	p.screen.mu.Unlock()
	if quit != nil {
		close(quit)
	}
	p.done.Wait()
}
