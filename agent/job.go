package agent

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/tool"
)

// job is a running call. In the foreground, its turn waits for it; in the background, it is
// detached.
type job struct {
	c    *call // belongs to the loop until the job is detached
	ctx  context.Context
	stop context.CancelCauseFunc
	out  tailBuffer
	done chan struct{} // closed when the call has ended
	// release tells the session's log that the call has ended.
	release        func()
	noticeRecorded chan struct{} // closed when the result "it continues in the background" has been recorded

	mu       sync.Mutex // guards the fields below
	free     *sync.Cond // signals that asking or ended has changed
	shown    int64      // the size of the output that was emitted
	asking   int        // number of nested requests that the loop is handling
	ended    bool
	detached bool
	result   tool.Result
	took     time.Duration
}

// newJob makes a job of a call. The job ends when the session's lease ends, so that the next lease
// holder can start immediately.
func (l *loop) newJob(ctx context.Context, c *call) *job {
	j := &job{c: c, done: make(chan struct{}), noticeRecorded: make(chan struct{}), release: func() {}}
	if l.log != nil {
		ctx, j.release = l.log.LeaseContext(ctx)
	}
	j.free = sync.NewCond(&j.mu)
	j.ctx, j.stop = context.WithCancelCause(ctx)
	return j
}

// end stores the result of the call.
func (j *job) end(r tool.Result, took time.Duration) {
	j.stop(nil)
	j.release()
	j.mu.Lock()
	j.result, j.took, j.ended = r, took, true
	j.free.Broadcast()
	j.mu.Unlock()
	close(j.done)
}

// interrupt stops the call, unless the call continues in the background.
func (j *job) interrupt(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.detached {
		j.stop(cause)
	}
}

// detach moves the call to the background as soon as the call no longer waits for a nested request.
// It returns false if the call has ended.
func (j *job) detach() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.asking > 0 && !j.ended {
		j.free.Wait()
	}
	j.detached = !j.ended
	return j.detached
}

// holdForeground keeps the call in the foreground until releaseForeground. It returns false if the
// call is already in the background.
func (j *job) holdForeground() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.detached {
		return false
	}
	j.asking++
	return true
}

func (j *job) releaseForeground() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asking--
	j.free.Broadcast()
}

// deliver stores the result in the call. If the call continues in the background, the result is a
// text that says so.
func (j *job) deliver() {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.c
	if c.detached = j.detached; !c.detached {
		c.result, c.took = j.result, j.took
		return
	}
	c.result = tool.Text(backgroundNotice(c.use.ID))
	c.onNoticeRecorded = sync.OnceFunc(func() { close(j.noticeRecorded) })
}

// tailBuffer keeps the last bytes that are written to it.
type tailBuffer struct {
	mu    sync.Mutex
	max   int // bytes; default 64 KiB
	last  []byte
	total int64
}

const tailSize = 64 << 10

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.max
	if limit == 0 {
		limit = tailSize
	}
	t.total += int64(len(p))
	t.last = append(t.last, p[max(0, len(p)-limit):]...)
	if over := len(t.last) - limit; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

// since returns the bytes written after the offset at, the number of those that were dropped, and
// the offset of the end.
func (t *tailBuffer) since(at int64) (text []byte, lost, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.total - int64(len(t.last))
	lost = max(0, kept-at)
	from := max(0, at-kept)
	return append([]byte(nil), t.last[from:]...), lost, t.total
}
