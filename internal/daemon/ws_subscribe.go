package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// subscription is what one client hears of one run. It has no queue: it is at its
// place in the log, and goes on as fast as the client reads.
type subscription struct {
	c         *socket
	run       string
	requestID string // of the subscribe
	quiet     bool   // it came with prepare_run: the client has not asked to be told that it caught up

	ctx   context.Context
	stop  context.CancelFunc
	noLog atomic.Bool // the run is prepared and has no log yet
	ended atomic.Bool // nothing more is written
}

// subscribe begins a subscription in place of the one that was there.
func (c *socket) subscribe(r *wire.Subscribe) {
	after := feed.FromEnd
	if r.AfterSeq != nil {
		after = *r.AfterSeq
	}
	if err := c.follow(&subscription{c: c, run: r.RunID, requestID: r.RequestID}, after, func() {}); err != nil {
		c.reply(denial(r, wire.CodeSubscribe, err.Error(), outcome.Hint(err)))
	}
}

// attend answers who has prepared a run, and subscribes it from now on, unless it
// follows the run already. It is subscribed before it can start the run.
func (c *socket) attend(r *wire.PrepareRun, m *wire.RunPrepared) {
	c.mu.Lock()
	_, there := c.subs[m.RunID]
	c.mu.Unlock()
	if there {
		c.reply(replyTo(r, m))
		return
	}
	sub := &subscription{c: c, run: m.RunID, quiet: true}
	if err := c.follow(sub, feed.FromEnd, func() { c.reply(replyTo(r, m)) }); err != nil {
		c.reply(replyTo(r, m))
		c.reply(denial(r, wire.CodeSubscribe, err.Error(), outcome.Hint(err)))
	}
}

// follow starts a subscription behind a seq; first is called before it tells anything.
func (c *socket) follow(sub *subscription, after int64, first func()) error {
	sub.ctx, sub.stop = context.WithCancel(c.ctx)
	events, err := c.s.listen(sub.ctx, sub.run, after)
	sub.noLog.Store(events == nil)
	if err == nil && c.enter(sub) {
		first()
		if c.spawn(func() { sub.serve(events, after) }) {
			return nil
		}
	} else if err == nil {
		err = fmt.Errorf("this connection has %d subscriptions, and no more are allowed", c.s.limits.subs)
	}
	sub.stop()
	if events != nil {
		events.Close()
	}
	return err
}

// listen opens the feed of a run; nil when the run is prepared and has no log yet.
func (s *sockets) listen(ctx context.Context, run string, after int64) (*feed.Subscription, error) {
	if err := s.runExists(ctx, run); err != nil {
		return nil, err
	}
	events, err := s.o.Hub.Subscribe(ctx, run, after)
	if errors.Is(err, session.ErrNotFound) && after <= 0 {
		return nil, nil
	}
	return events, err
}

// errNoRun is why a run cannot be followed.
var errNoRun = errors.New("not found")

// runExists looks whether there is a run, on record or only prepared. One that is about
// to start is neither for a moment, and busy.
func (s *sockets) runExists(ctx context.Context, run string) error {
	for range 2 {
		_, err := s.o.Runs.Get(ctx, run)
		if errors.Is(err, session.ErrCorrupt) { // the rest of it can be followed
			return nil
		}
		if e, ok := errors.AsType[*runs.Error](err); !ok || e.Code != wire.CodeRunNotFound {
			return err
		}
		if s.o.Runs.Busy(run) {
			return nil
		}
	}
	return fmt.Errorf("Run %s %w", run, errNoRun)
}

// enter makes room for a subscription, which takes the place of an older one.
func (c *socket) enter(sub *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.subs[sub.run]
	if old == nil && len(c.subs) >= c.s.limits.subs {
		return false
	}
	if old != nil {
		old.end()
	}
	if c.subs == nil {
		c.subs = map[string]*subscription{}
	}
	c.subs[sub.run] = sub
	return true
}

// unsubscribe ends a subscription. What is answered after it comes after all that it
// has told.
func (c *socket) unsubscribe(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sub := c.subs[run]; sub != nil {
		sub.end()
		delete(c.subs, run)
	}
}

func (sub *subscription) end() {
	sub.ended.Store(true)
	sub.stop()
}

// remove forgets a subscription that has ended by itself.
func (sub *subscription) remove() {
	sub.stop()
	c := sub.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[sub.run] == sub {
		delete(c.subs, sub.run)
	}
}

func (sub *subscription) send(m wire.Message) bool {
	return sub.c.writeFor(sub, sub.c.frame(m))
}

// serve tells what there is and what comes, until the subscription ends.
func (sub *subscription) serve(events *feed.Subscription, after int64) {
	defer sub.remove()
	var first *feed.Event
	var err error
	switch {
	case events == nil:
		events, err = sub.await()
	case after == feed.FromEnd: // its first event says what that is
		if first, err = events.Next(sub.ctx); err == nil {
			sub.begin(first.Seq)
		}
	default:
		sub.begin(after)
	}
	if events != nil {
		defer events.Close()
	}
	if err != nil {
		sub.failed(err)
		return
	}
	frames := sub.c.s.frames.of(sub.c.s.o.Runs.AgentName(sub.ctx, sub.run))
	for e := first; ; {
		if e != nil && !sub.forward(e, frames) {
			return
		}
		if e, err = events.Next(sub.ctx); err != nil && !sub.failed(err) {
			return
		}
	}
}

// begin tells where the subscription begins, and what waits there for an answer.
func (sub *subscription) begin(after int64) {
	if !sub.quiet {
		sub.send(&wire.Subscribed{Envelope: wire.Envelope{RequestID: sub.requestID}, RunID: sub.run, AfterSeq: after})
	}
	waiting, err := sub.c.s.waiting(sub.ctx, sub.run, after)
	if err != nil {
		sub.failed(err) // what can be told is told all the same
	}
	for _, m := range waiting {
		sub.send(m)
	}
}

// forward tells an event; false when the subscription has ended.
func (sub *subscription) forward(e *feed.Event, frames *feed.Encoding) bool {
	switch e.Kind {
	case feed.Durable, feed.Delta:
		for _, f := range e.Frames(frames) {
			if !sub.c.writeFor(sub, f) {
				return false
			}
		}
		return true
	case feed.Gap:
		return sub.send(&wire.Gap{RunID: sub.run, Seq: e.Seq})
	case feed.CaughtUp:
		return sub.caughtUp(e.Seq)
	}
	return true
}

// caughtUp tells that what follows happens now. The first time it answers the subscribe.
func (sub *subscription) caughtUp(seq int64) bool {
	if sub.quiet {
		sub.quiet = false
		return !sub.ended.Load()
	}
	m := &wire.CaughtUp{Envelope: wire.Envelope{RequestID: sub.requestID}, RunID: sub.run, Seq: seq}
	sub.requestID = ""
	if info, err := sub.c.s.o.Runs.Get(sub.ctx, sub.run); err == nil { // otherwise it was deleted meanwhile
		m.Status, m.Mode = info.Status, info.Mode
	}
	return sub.send(m)
}

// failed tells why the feed gave no event, and reports whether it goes on.
func (sub *subscription) failed(err error) bool {
	switch {
	case sub.ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, errDismissed):
		return false
	case errors.Is(err, session.ErrCorrupt), errors.Is(err, session.ErrNewer):
		return sub.send(&wire.Error{Code: wire.CodeInternal, RunID: sub.run, Message: err.Error(), Hint: outcome.Hint(err)})
	case isUnavailable(err):
		sub.send(&wire.Error{Code: wire.CodeUnavailable, RunID: sub.run, Message: err.Error(), Hint: "subscribe again behind the last seq"})
		sub.c.end(websocket.StatusTryAgainLater, "the store is away: come back and subscribe behind the last seq")
		return false
	case errors.Is(err, session.ErrNotFound):
		err = fmt.Errorf("Run %s was deleted", sub.run)
	}
	sub.send(&wire.Error{Code: wire.CodeSubscribe, RunID: sub.run, Message: err.Error(), Hint: outcome.Hint(err)})
	return false
}
