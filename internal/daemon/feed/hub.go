package feed

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
)

// Options adjusts [New]. The zero value works.
type Options struct {
	BufferSize int           // maximum number of events in a feed; default 1024
	Bytes      int           // maximum size of the payloads in a feed, not counting its last event; default 4 MiB
	Poll       time.Duration // how often to look for appends of other programs if the store does not notify; default 250 ms
	// OutageDelay is how long reads may fail before subscribers are notified; default 5 s, so about
	// 10 s with the time to detect an outage.
	OutageDelay time.Duration
	Clock       func() time.Time
}

// Hub manages the feeds of all sessions. A feed exists as long as it has subscribers. It is safe
// for concurrent use.
type Hub struct {
	opt  Options
	ctx  context.Context // canceled by Close
	read context.Context // the context for reads; it does not let them wait long for an unavailable store
	stop context.CancelFunc
	work sync.WaitGroup // loading and polling goroutines

	mu          sync.RWMutex
	sessions    *session.Sessions
	feeds       map[string]*feed
	polls       bool
	closed      bool
	unavailable outage

	liveMu sync.Mutex // locked before the mutex of a feed, and before mu
	live   map[string]*live
}

// New returns a hub without sessions, because the sessions can only be opened with the hub's
// observer; [Hub.Serve] sets them.
func New(o *Options) *Hub {
	h := &Hub{feeds: map[string]*feed{}, live: map[string]*live{}}
	if o != nil {
		h.opt = *o
	}
	if h.opt.BufferSize <= 0 {
		h.opt.BufferSize = 1024
	}
	if h.opt.Bytes <= 0 {
		h.opt.Bytes = 4 << 20
	}
	if h.opt.Poll <= 0 {
		h.opt.Poll = 250 * time.Millisecond
	}
	if h.opt.OutageDelay <= 0 {
		h.opt.OutageDelay = 5 * time.Second
	}
	if h.opt.Clock == nil {
		h.opt.Clock = time.Now
	}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.read = retry.Within(h.ctx, readTimeout)
	return h
}

// Serve sets the sessions whose logs the hub serves. Call it once, before the first subscription.
func (h *Hub) Serve(s *session.Sessions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = s
}

// WrapObserver returns an observer that calls inner, which may be nil, and then wakes the feed of
// the session. If inner returns an error, no feed is woken.
func (h *Hub) WrapObserver(inner session.AppendObserver) session.AppendObserver {
	return &observer{h, inner}
}

type observer struct {
	hub   *Hub
	inner session.AppendObserver
}

// Appended implements [session.AppendObserver].
func (w *observer) Appended(ctx context.Context, id string, head session.Record) error {
	if w.inner != nil {
		if err := w.inner.Appended(ctx, id, head); err != nil {
			return err
		}
	}
	w.hub.appended(id, head)
	return nil
}

// Deleted implements [session.AppendObserver].
func (w *observer) Deleted(ctx context.Context, id string) error {
	if w.inner == nil {
		return nil
	}
	return w.inner.Deleted(ctx, id)
}

func (h *Hub) appended(id string, head session.Record) {
	h.liveMu.Lock()
	if l := h.live[id]; l != nil {
		l.appended()
	}
	if f := h.find(id); f != nil {
		f.appended(head)
	}
	h.liveMu.Unlock()
	if head.Kind != record.KindRedacted {
		return
	}
	for _, f := range h.all() {
		f.clearErased(id)
	}
}

// Publish sends an unrecorded event to the subscribers of a session. It never blocks. If an event
// is published after an append has returned, it is sent after the appended records. An
// [event.ToolFinished] is not sent, because it has a record; it ends the output of its call.
func (h *Hub) Publish(id, agentName string, d event.Event) {
	h.liveMu.Lock()
	defer h.liveMu.Unlock()
	l := h.live[id]
	if l == nil {
		l = new(live)
		h.live[id] = l
	}
	l.published(agentName, d)
	if f := h.find(id); f != nil && event.Provisional(d) {
		f.publish(&Event{Kind: Delta, Session: id, Time: h.opt.Clock(), Agent: agentName, Delta: d})
	}
}

// Ended discards the texts so far of a session. It is called when a run has ended, after its last
// Publish.
func (h *Hub) Ended(id string) {
	h.liveMu.Lock()
	defer h.liveMu.Unlock()
	delete(h.live, id)
}

// FromEnd is a seq for subscriptions: the subscription starts with the next append.
const FromEnd int64 = -1

// Subscribe subscribes to the records after a seq: 0 starts at the beginning, [FromEnd] at the end.
// The subscriber first gets the existing records without deltas, then [CaughtUp], then the text so
// far of each answer that an agent writes, and then everything new. The text so far begins with
// [event.ModelStarted], which tells a client that reconnects to replace the text that it has.
//
// Errors come from the store, for example [session.ErrNotFound]. If the seq is after the head, the
// error is ErrInvalid. After [Hub.Close], it is ErrClosed.
func (h *Hub) Subscribe(ctx context.Context, id string, after int64) (*Subscription, error) {
	f, err := h.follow(id)
	if err != nil {
		return nil, err
	}
	m, err := f.sessions.Get(ctx, id)
	if err == nil && (after > m.Head || after < FromEnd) {
		err = &session.Error{
			Op: "subscribe", Session: id, Seq: after, Err: session.ErrInvalid,
			Detail: "no record with this number", Hint: "the last record is " + strconv.FormatInt(m.Head, 10) + "; 0 starts at the beginning",
		}
	}
	if err != nil {
		h.unfollow(f)
		return nil, err
	}
	return f.begin(m, after), nil
}

// Await subscribes from the beginning to a session that may not exist yet. The subscriber gets its
// first records, and deltas, when they happen. It returns the errors of [Hub.Subscribe] except
// [session.ErrNotFound].
func (h *Hub) Await(ctx context.Context, id string) (*Subscription, error) {
	f, err := h.follow(id)
	if err != nil {
		return nil, err
	}
	m, err := f.sessions.Get(ctx, id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		h.unfollow(f)
		return nil, err
	}
	return f.begin(m, 0), nil
}

// Close ends all subscriptions and waits for the hub's goroutines. Calling it twice has no effect.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.work.Wait()
	return nil
}

func (h *Hub) find(id string) *feed {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.feeds[id]
}

func (h *Hub) all() []*feed {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Collect(maps.Values(h.feeds))
}

// follow finds or creates the feed of a session and adds a subscriber.
func (h *Hub) follow(id string) (*feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, &session.Error{Op: "subscribe", Session: id, Err: session.ErrClosed}
	case h.sessions == nil:
		return nil, &session.Error{Op: "subscribe", Session: id, Err: session.ErrInvalid, Detail: "the hub has no sessions yet"}
	}
	f := h.feeds[id]
	if f == nil {
		f = &feed{hub: h, id: id, sessions: h.sessions, head: unknown}
		f.ctx, f.stop = context.WithCancel(h.ctx)
		h.feeds[id] = f
	}
	f.readers++
	if !h.polls {
		h.polls = true
		h.work.Go(h.poll)
	}
	return f, nil
}

// unfollow reverses follow.
func (h *Hub) unfollow(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.readers--
	if f.readers == 0 {
		h.forget(f)
	}
}

// forget removes a feed from the hub. The caller holds h.mu.
func (h *Hub) forget(f *feed) {
	if h.feeds[f.id] == f {
		delete(h.feeds, f.id)
	}
	f.stop()
}

// pollShare limits polling to 1/pollShare of the time. So each session is polled less often if
// there are many sessions.
const pollShare = 20

const (
	readTimeout = 2 * time.Second  // how long a read waits for an unavailable store
	longestPoll = 10 * time.Second // between two rounds
)

// poll looks for appends of other programs as long as there are subscribers. It does so less often
// if the store sends notifications.
func (h *Hub) poll() {
	pause := h.opt.Poll
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for round := 1; ; round++ {
		select {
		case <-h.ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		failed := h.look(round)
		if h.idle() {
			return
		}
		if failed {
			timer.Reset(pause)
			continue
		}
		timer.Reset(max(pause, min(pollShare*time.Since(began), longestPoll)))
	}
}

// look checks the feeds that are due for a poll. If the store is unavailable, it stops.
func (h *Hub) look(round int) (failed bool) {
	known := h.unavailable.get() != nil
	for _, f := range h.all() {
		if !known && !f.due(round) {
			continue
		}
		err := f.check(h.read)
		if failed = err != nil && h.ctx.Err() == nil && isUnavailable(err); failed {
			if h.unavailable.record(err, h.opt.OutageDelay) {
				for _, f := range h.all() {
					f.reportOutage(err)
				}
			}
			return true
		}
		h.unavailable.end()
	}
	return false
}

// idle reports whether there are no subscribers. The next subscriber starts polling again.
func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = len(h.feeds) > 0
	return !h.polls
}
