package supervisor

import (
	"io"
	"sync"
	"time"
)

// idleReader reads what the other side says, and knows for how long it has listened in vain.
// Every byte is a sign of life, however long the rest of its frame takes. While nobody
// listens, because what came is still being understood or done, nothing can be heard, and
// that is not the other side's doing.
type idleReader struct {
	r io.Reader

	mu    sync.Mutex
	since time.Time // when it began to listen; zero while nobody does
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

// idle is how long it has listened in vain. Who asks says how much later than meant that
// is: where that is much, this process did not run (the machine was out of memory, or was
// paused), and did not listen either.
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
