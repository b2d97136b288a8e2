package vendoragent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Time limits for the end of a process. exitTimeout applies after its turn is over. drainTimeout
// applies if its output has ended before the turn, because the way the process exits explains why.
const (
	exitTimeout  = 2 * time.Second // the process may take longer after it was asked to end
	drainTimeout = 3 * time.Second
	killTimeout  = 10 * time.Second // the time until all its processes have ended after they were killed
)

// maxQueued is the maximum number of bytes of the agent's output that are queued while a tool runs
// or an approval request is pending.
const maxQueued = 256 << 20

// message is one output of the agent: exactly one field is set.
type message struct {
	delta  *vendor.Delta
	item   *transcript.Item
	notice string
	size   int
}

// vendorTurn is one turn of a vendor agent: its process and its unread output.
//
//	driver ─► Sink ─► queue ─► Stream
//	             └──► uses ─► Run
type vendorTurn struct {
	driver vendor.Driver
	turn   vendor.Turn
	proc   Process
	newID  func() string
	ctx    context.Context
	stop   context.CancelCauseFunc

	silence time.Duration // how long the agent may send nothing

	changed chan struct{} // has one element if the queue has changed
	over    chan struct{} // closed when the vendor has ended the turn or the connection was lost
	gone    chan struct{} // closed when the process has also ended

	mu          sync.Mutex // guards the fields below
	queue       []message
	queued      int
	notices     int
	requests    int             // number of pending requests
	uses        map[string]*use // by the vendor's id
	byID        map[string]*use // by the loop's id
	taken       map[string]bool // the ids that the transcript already contains
	session     string          // the id of the session, as the vendor has confirmed it
	active      bool            // true if the agent has produced output or an action
	end         vendor.End
	err         error // the error of the connection; nil if the vendor has ended the turn
	killed      error // the reason why the process was killed, or nil
	abortReason error // the violation because of which the turn was stopped, or nil
	exit        Exit
	waited      bool // exit is set
	endKnown    bool // true if the loop knows how the turn ended, or does not need to know it
}

// newTurn runs a started process through a turn. The map taken has the ids of the tool uses in the
// transcript.
func newTurn(d vendor.Driver, t vendor.Turn, p Process, taken map[string]bool, newID func() string) *vendorTurn {
	x := &vendorTurn{
		driver: d, turn: t, proc: p, newID: newID, taken: taken,
		changed: make(chan struct{}, 1), over: make(chan struct{}), gone: make(chan struct{}),
		uses: map[string]*use{}, byID: map[string]*use{},
	}
	x.ctx, x.stop = context.WithCancelCause(context.Background())
	go x.runDriver()
	return x
}

// runDriver runs the driver and waits for the process. It ends the turn.
func (x *vendorTurn) runDriver() {
	defer close(x.gone)
	end, err := x.drive()
	_ = x.proc.Stdin().Close()
	if err != nil {
		x.await(drainTimeout) // the way the process exits explains more than the error of the connection
	}
	x.mu.Lock()
	x.end, x.err = end, err
	x.mu.Unlock()
	close(x.over)
	x.await(exitTimeout)
	_ = x.proc.Close()
	x.stop(nil)
}

func (x *vendorTurn) drive() (end vendor.End, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the driver of %s failed: panic: %v", x.driver.Name(), p)
		}
	}()
	return x.driver.Run(x.ctx, x.turn, x.proc, sink{x})
}

// await waits for the process to end. If this takes longer than patience, it kills the process.
func (x *vendorTurn) await(patience time.Duration) {
	x.mu.Lock()
	waited := x.waited
	x.mu.Unlock()
	if waited {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	exit, err := x.proc.Wait(ctx)
	stop()
	if err != nil {
		ctx, stop := context.WithTimeout(context.Background(), killTimeout)
		defer stop()
		_ = x.proc.Kill(ctx)
		if exit, err = x.proc.Wait(ctx); err != nil {
			return
		}
	}
	x.mu.Lock()
	x.exit, x.waited = exit, true
	x.mu.Unlock()
}

// errEnded is the reason for ending a process that is no longer needed.
var errEnded = errors.New("the turn is over")

// kill ends the process and with it the turn. It returns when both have ended.
func (x *vendorTurn) kill(why error) {
	x.mu.Lock()
	if x.killed == nil {
		x.killed = why
	}
	x.mu.Unlock()
	x.stop(why)
	select {
	case <-x.gone:
		return
	default:
	}
	ctx, stop := context.WithTimeout(context.Background(), killTimeout)
	defer stop()
	_ = x.proc.Kill(ctx)
	<-x.gone
}

// abortRefused ends the turn if the loop denies a tool use that the agent runs without asking. The
// caller holds x.mu.
func (x *vendorTurn) abortRefused(u *use) {
	if u.running && u.refusal != "" && x.abortReason == nil {
		x.abortReason = fmt.Errorf("it was stopped: it ran %s without asking, which was not allowed", u.name)
		go x.kill(x.abortReason)
	}
}

// put queues a message.
func (x *vendorTurn) put(m message) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.queued += m.size; x.queued > maxQueued {
		return fmt.Errorf("the agent sent more than %d MB without being read", maxQueued>>20)
	}
	if m.notice == "" {
		x.active = true
	}
	x.queue = append(x.queue, m)
	select {
	case x.changed <- struct{}{}:
	default:
	}
	return nil
}

// silenceError returns the error for a turn that was ended because the agent was silent.
func (x *vendorTurn) silenceError() error { return fmt.Errorf("it sent nothing for %v", x.silence) }

// peek waits for a message. ok is false if the turn is over and no messages are left.
func (x *vendorTurn) peek(ctx context.Context) (m message, ok bool, err error) {
	late := time.NewTimer(x.silence)
	defer late.Stop()
	for {
		x.mu.Lock()
		if len(x.queue) > 0 {
			m = x.queue[0]
			x.mu.Unlock()
			return m, true, nil
		}
		x.mu.Unlock()
		select {
		case <-x.changed:
		case <-late.C:
			x.kill(x.silenceError())
		case <-ctx.Done():
			return m, false, ctx.Err()
		case <-x.over:
			x.mu.Lock()
			left := len(x.queue)
			x.mu.Unlock()
			if left == 0 {
				return m, false, nil
			}
		}
	}
}

func (x *vendorTurn) take() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.queued -= x.queue[0].size
	x.queue[0] = message{}
	x.queue = x.queue[1:]
}

// ended reports whether the vendor's turn is over.
func (x *vendorTurn) ended() bool {
	select {
	case <-x.over:
		return true
	default:
		return false
	}
}

// outcome returns how the turn ended, after it is over.
func (x *vendorTurn) outcome() (end vendor.End, exit Exit, active bool, wire error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.abortReason != nil {
		return x.end, x.exit, true, x.abortReason
	}
	return x.end, x.exit, x.active, x.err
}

// failure describes why a turn did not complete, or returns "".
func (x *vendorTurn) failure() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	silent := errors.Is(x.err, io.ErrUnexpectedEOF) // the exit explains why
	switch {
	case x.abortReason != nil:
		return x.abortReason.Error()
	case x.err == nil:
		return x.end.Failure
	case x.killed != nil && !errors.Is(x.killed, errEnded):
		return x.killed.Error()
	case x.waited && (x.exit.OOM || silent && x.exit.Detail != ""):
		return x.exit.String()
	}
	what := x.err.Error()
	if x.waited && silent {
		what = x.exit.String()
	}
	if tail := strings.TrimSpace(x.proc.Stderr()); tail != "" {
		what += "; its last output: " + tail
	}
	return what
}
