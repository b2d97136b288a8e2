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

// subscription sends the messages of one run to one client. It has no queue: it reads the log at
// the client's speed.
type subscription struct {
	c         *socket
	run       string
	requestID string // of the subscribe message
	quiet     bool   // created by prepare_run: the client does not expect caught_up as an answer

	ctx   context.Context
	stop  context.CancelFunc
	noLog atomic.Bool // the run is only prepared and has no log yet
	ended atomic.Bool // nothing more is sent
}

// subscribe starts a subscription and replaces an existing one.
func (c *socket) subscribe(r *wire.Subscribe) {
	after := feed.FromEnd
	if r.AfterSeq != nil {
		after = *r.AfterSeq
	}
	if err := c.follow(&subscription{c: c, run: r.RunID, requestID: r.RequestID}, after, func() {}); err != nil {
		c.reply(errorFor(r, wire.CodeSubscribe, err.Error(), outcome.Hint(err)))
	}
}

// subscribePrepared answers prepare_run. It subscribes the client to new messages, unless the
// client already follows the run. The subscription starts before the client can start the run.
func (c *socket) subscribePrepared(r *wire.PrepareRun, m *wire.RunPrepared) {
	c.mu.Lock()
	_, exists := c.subs[m.RunID]
	c.mu.Unlock()
	if exists {
		c.reply(replyTo(r, m))
		return
	}
	sub := &subscription{c: c, run: m.RunID, quiet: true}
	if err := c.follow(sub, feed.FromEnd, func() { c.reply(replyTo(r, m)) }); err != nil {
		c.reply(replyTo(r, m))
		c.reply(errorFor(r, wire.CodeSubscribe, err.Error(), outcome.Hint(err)))
	}
}

// follow starts a subscription after a seq. It calls first before it sends anything.
func (c *socket) follow(sub *subscription, after int64, first func()) error {
	sub.ctx, sub.stop = context.WithCancel(c.ctx)
	events, err := c.s.listen(sub.ctx, sub.run, after)
	sub.noLog.Store(events == nil)
	if err == nil && c.register(sub) {
		first()
		if c.spawn(func() { sub.serve(events, after) }) {
			return nil
		}
	} else if err == nil {
		err = fmt.Errorf("too many subscriptions on this connection (limit %d)", c.s.limits.subs)
	}
	sub.stop()
	if events != nil {
		events.Close()
	}
	return err
}

// listen opens the feed of a run. If the run is only prepared and has no log yet, listen returns
// nil.
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

// errNoRun is the error for a run that does not exist.
var errNoRun = errors.New("not found")

// runExists checks whether a run exists; the run may be recorded or only prepared. While a run
// starts, there is a short time in which it is neither recorded nor prepared, but its session is
// busy.
func (s *sockets) runExists(ctx context.Context, run string) error {
	for range 2 {
		_, err := s.o.Runs.Get(ctx, run)
		if errors.Is(err, session.ErrCorrupt) { // the other records of the log can be followed
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

// register adds a subscription, which replaces an older one of the same run. It returns false if
// the connection has too many subscriptions.
func (c *socket) register(sub *subscription) bool {
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

// unsubscribe ends a subscription. Later replies are sent after all messages of the subscription.
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

// remove removes a subscription that has ended, unless a newer one has replaced it.
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

// serve sends recorded messages and then new ones until the subscription ends.
func (sub *subscription) serve(events *feed.Subscription, after int64) {
	defer sub.remove()
	var first *feed.Event
	var err error
	switch {
	case events == nil:
		events, err = sub.await()
	case after == feed.FromEnd: // the first event of the feed has the seq
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

// begin sends the start of the subscription and the pending approvals and inputs.
func (sub *subscription) begin(after int64) {
	if !sub.quiet {
		sub.send(&wire.Subscribed{Envelope: wire.Envelope{RequestID: sub.requestID}, RunID: sub.run, AfterSeq: after})
	}
	waiting, err := sub.c.s.pendingMessages(sub.ctx, sub.run, after)
	if err != nil {
		sub.failed(err) // continue with the records that can be read
	}
	for _, m := range waiting {
		sub.send(m)
	}
}

// forward sends the messages of an event. If the subscription has ended, it returns false.
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

// caughtUpFrame reports that all messages from here on are new. The first call also answers the
// subscribe message.
func (sub *subscription) caughtUp(seq int64) bool {
	if sub.quiet {
		sub.quiet = false
		return !sub.ended.Load()
	}
	m := &wire.CaughtUp{Envelope: wire.Envelope{RequestID: sub.requestID}, RunID: sub.run, Seq: seq}
	sub.requestID = ""
	if info, err := sub.c.s.o.Runs.Get(sub.ctx, sub.run); err == nil { // an error means that the run was deleted meanwhile
		m.Status, m.Mode = info.Status, info.Mode
	}
	return sub.send(m)
}

// failed reports an error of the feed to the client. It returns whether the subscription continues.
func (sub *subscription) failed(err error) bool {
	switch {
	case sub.ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, errDismissed):
		return false
	case errors.Is(err, session.ErrCorrupt), errors.Is(err, session.ErrNewer):
		return sub.send(&wire.Error{Code: wire.CodeInternal, RunID: sub.run, Message: err.Error(), Hint: outcome.Hint(err)})
	case isUnavailable(err):
		sub.send(&wire.Error{Code: wire.CodeUnavailable, RunID: sub.run, Message: err.Error(), Hint: "subscribe again after the last seq"})
		sub.c.end(websocket.StatusTryAgainLater, "the store is unreachable: reconnect and subscribe after the last seq")
		return false
	case errors.Is(err, session.ErrNotFound):
		err = fmt.Errorf("Run %s was deleted", sub.run)
	}
	sub.send(&wire.Error{Code: wire.CodeSubscribe, RunID: sub.run, Message: err.Error(), Hint: outcome.Hint(err)})
	return false
}
