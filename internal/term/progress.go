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

	quit chan struct{}
	done sync.WaitGroup
	once sync.Once

	// Guarded by screen.mu.
	what   string
	detail func() string // returns the text after what; it is called each time the line is drawn
	after  string        // says what an interrupt will do
	since  time.Time
	quiet  time.Time // the line is not drawn before this time
	drawn  bool
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
	p.clear()
	now := time.Now()
	p.what, p.since, p.quiet = what, now, now.Add(progressDelay)
	if what != "" && p.quit == nil {
		p.quit = make(chan struct{})
		p.done.Go(p.animate)
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

func (p *Progress) animate() {
	tick := time.NewTicker(progressPeriod)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-p.quit:
			return
		case now := <-tick.C:
			p.draw(i, now)
		}
	}
}

func (p *Progress) draw(i int, now time.Time) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if p.what == "" || p.screen.midLine || p.screen.asking || now.Before(p.quiet) {
		return
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	what := p.what
	if p.detail != nil {
		what += p.detail()
	}
	text := fmt.Sprintf("%c %s %d s%s", frames[i%len(frames)], what, int(now.Sub(p.since).Seconds()), p.after)
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.style.Dim(Clip(text, p.style.Columns()-1)))
	p.drawn = true
}

// erase removes the line from the screen. The caller holds screen.mu.
func (p *Progress) erase() {
	if p == nil {
		return
	}
	p.clear()
	p.quiet = time.Now().Add(progressDelay)
}

func (p *Progress) clear() {
	if p.drawn {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *Progress) stop() {
	if p == nil {
		return
	}
	p.Show("")
	p.once.Do(func() {
		if p.quit != nil {
			close(p.quit)
		}
	})
	p.done.Wait()
}
