package call

import (
	"context"
	"fmt"
	"io"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/model"
)

// Timeout ends a call if its provider sends nothing for too long.
//
//	Start ─Connect─► connection ─FirstByte─► Answered ─Idle─► Activity ─Idle─► Activity … Stop
//
// It is one timer, which each step resets. Its methods may be called from any goroutine.
type Timeout struct {
	provider string
	timeouts model.Timeouts
	cancel   context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	phase phase
	ended bool
	fault error
}

// phase is what a call waits for.
type phase struct {
	setting string // name in the settings' providers block
	what    string
	after   time.Duration
}

// Start limits a call that uses the returned context. The caller stops it.
func Start(ctx context.Context, provider string, timeouts model.Timeouts) (context.Context, *Timeout) {
	w := &Timeout{provider: provider, timeouts: timeouts.Fill()}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.enter(phase{"connectTimeout", "no connection", w.timeouts.Connect})
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		w.enter(phase{"firstByteTimeout", "no answer", w.timeouts.FirstByte})
	}}), w
}

// Answered records that the answer has begun.
func (w *Timeout) Answered() {
	w.enter(phase{"idleTimeout", "nothing more of the answer", w.timeouts.Idle})
}

// Activity records an event of the answer, other than a ping.
func (w *Timeout) Activity() { w.Answered() }

// Reader reads an answer that is not streamed. Every byte resets the timer, as an event does.
func (w *Timeout) Reader(r io.Reader) io.Reader { return activityReader{r, w} }

type activityReader struct {
	io.Reader
	w *Timeout
}

func (h activityReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.w.Activity()
	}
	return n, err
}

func (w *Timeout) enter(p phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.phase = p
	switch {
	case p.after < 0 && w.timer != nil:
		w.timer.Stop()
	case p.after < 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(p.after, w.expire)
	default:
		w.timer.Reset(p.after)
	}
}

// Pause stops the timer until the next step, while the caller is busy.
func (w *Timeout) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *Timeout) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	w.fault = fmt.Errorf("%s within %v; hint: if it needs longer, set providers.%s.%s in the settings", w.phase.what, w.phase.after, w.provider, w.phase.setting)
	w.cancel(w.fault)
}

// Err returns the reason why the call ended: a timeout, or otherwise err.
func (w *Timeout) Err(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault != nil {
		return w.fault
	}
	return err
}

// Stop ends the call.
func (w *Timeout) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}
