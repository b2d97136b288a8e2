package agent

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/event"
)

// outputInterval is the time between two events with the output of a running call. Output that
// arrives in between is merged; of more than tailSize bytes, the last ones are kept.
const outputInterval = 50 * time.Millisecond

// emitOutput emits the new output of the calls that run in the foreground.
func (l *loop) emitOutput(w *runningCalls) {
	for _, j := range w.jobs {
		if text := j.newOutput(false); text != "" {
			l.publish(event.ToolOutputDelta{Use: j.c.use.ID, Text: text})
		}
	}
}

// queueOutput queues the new output of a background task until the task has ended.
func (a *Agent) queueOutput(j *job) {
	tick := time.NewTicker(outputInterval)
	defer tick.Stop()
	for {
		select {
		case <-j.done:
			return
		case <-tick.C:
			if text := j.newOutput(true); text != "" {
				a.queueEvent(event.ToolOutputDelta{Use: j.c.use.ID, Text: text})
			}
		}
	}
}

// newOutput returns the output since the last call, without an incomplete character at its end, if
// the job runs in the background or foreground, as the parameter says.
func (j *job) newOutput(background bool) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || j.detached != background || j.out.size() == j.shown {
		return ""
	}
	text, _, end := j.out.since(j.shown)
	n := len(text)
	for i := 1; i < utf8.UTFMax && i <= n; i++ {
		if c := text[n-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[n-i:]) {
				n -= i
			}
			break
		}
	}
	j.shown = end - int64(len(text)-n)
	return strings.ToValidUTF8(string(text[:n]), "\uFFFD")
}

// size returns the number of bytes that were written.
func (t *tailBuffer) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}
