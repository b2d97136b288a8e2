package supervisor

import (
	"io"
	"sync"
	"time"
)

// idleReader reads from the other side and measures how long it has waited without receiving
// anything. Every byte shows that the other side is alive, even if the rest of its frame takes
// long. While no Read is running, because a frame is being processed, the other side is not
// responsible for the silence.
type idleReader struct {
	r io.Reader

	mu    sync.Mutex
	since time.Time // time at which the Read began; zero while no Read runs
}

func (e *idleReader) Read(p []byte) (int, error) {
	e.start(time.Now())
	defer e.start(time.Time{})
	return e.r.Read(p)
}

func (e *idleReader) start(since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.since = since
}

// idle returns how long the current Read has waited. The parameter late is the delay of the
// caller's timer. If the delay is long, this process itself did not run (the machine was out of
// memory, or was paused), and the time is not counted.
func (e *idleReader) idle(late time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.since.IsZero() {
		return 0
	}
	if late >= time.Second {
		e.since = e.since.Add(min(late, time.Since(e.since)))
	}
	return time.Since(e.since)
}
