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
	BufferSize int           // events that a feed keeps; default 1024
	Bytes      int           // bytes of payloads that a feed keeps at most, but for its last event; default 4 MiB
	Poll       time.Duration // how often to look for what other programs append when the store does not tell; default 250 ms
	// OutageDelay is how long reading may fail in a row before subscribers are told; default 5 s: with the time that noticing takes, about 10.
	OutageDelay time.Duration
	Clock       func() time.Time
}

// Hub has the feeds of all sessions. A feed is made when somebody subscribes, and is
// forgotten when nobody does any more. It is safe for concurrent use.
type Hub struct {
	opt  Options
	ctx  context.Context // ends with Close
	read context.Context // ctx, for reading: it does not wait long for a store that is away
	stop context.CancelFunc
	work sync.WaitGroup // what loads, and who polls

	mu          sync.RWMutex
	sessions    *session.Sessions
	feeds       map[string]*feed
	polls       bool
	closed      bool
	unavailable outage
}

// New returns a hub without sessions: they need its witness first.
func New(o *Options) *Hub {
	h := &Hub{feeds: map[string]*feed{}}
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
	h.read = retry.Within(h.ctx, readTime)
	return h
}

// Serve says whose logs are told. It is called once, before anything is subscribed.
func (h *Hub) Serve(s *session.Sessions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = s
}

// WrapWitness passes what it is told on to inner, which may be nil, and then wakes the
// feed of the session. A failure of inner's wakes nobody.
func (h *Hub) WrapWitness(inner session.AppendObserver) session.AppendObserver {
	return &witness{h, inner}
}

type witness struct {
	hub   *Hub
	inner session.AppendObserver
}

// Appended implements [session.AppendObserver].
func (w *witness) Appended(ctx context.Context, id string, head session.Record) error {
	if w.inner != nil {
		if err := w.inner.Appended(ctx, id, head); err != nil {
			return err
		}
	}
	w.hub.appended(id, head)
	return nil
}

// Deleted implements [session.AppendObserver].
func (w *witness) Deleted(ctx context.Context, id string) error {
	if w.inner == nil {
		return nil
	}
	return w.inner.Deleted(ctx, id)
}

func (h *Hub) appended(id string, head session.Record) {
	if f := h.find(id); f != nil {
		f.appended(head)
	}
	if head.Kind != record.KindRedacted {
		return
	}
	for _, f := range h.all() {
		f.erased(id)
	}
}

// Publish tells those who follow a session of something that is not on record. It
// never blocks. What is published after an append has returned is told after its
// records.
func (h *Hub) Publish(id, agentName string, d event.Event) {
	if f := h.find(id); f != nil {
		f.publish(&Event{Kind: Delta, Session: id, Time: h.opt.Clock(), Agent: agentName, Delta: d})
	}
}

// FromEnd is the seq of a subscription that begins with what is appended next.
const FromEnd int64 = -1

// Subscribe begins behind a seq: 0 is from the beginning, [FromEnd] is the end. What
// is on record is told without deltas, then comes [CaughtUp], then the deltas since
// the last record that the feed still has, and what happens from then on. So a client
// that comes again forgets what was provisional, and has the answer so far.
//
// The error is the store's: [session.ErrNotFound]. A seq behind the head is
// ErrInvalid; after [Hub.Close] it is ErrClosed.
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
	s := &Subscription{feed: f, done: make(chan struct{})}
	f.begin(s, m, after)
	return s, nil
}

// Await subscribes to a session that need not be there yet, from its beginning: what
// its first record brings is told as it happens, deltas too. Errors as of
// [Hub.Subscribe], but for [session.ErrNotFound].
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
	s := &Subscription{feed: f, done: make(chan struct{})}
	f.begin(s, m, 0)
	return s, nil
}

// Close ends all subscriptions and waits for what the hub does in the background.
// Closing twice does nothing.
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

// follow finds or makes the feed of a session for one more subscriber.
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

// unfollow ends what follow began.
func (h *Hub) unfollow(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.readers--
	if f.readers == 0 {
		h.forget(f)
	}
}

// forget takes a feed out of the hub. h.mu is held.
func (h *Hub) forget(f *feed) {
	if h.feeds[f.id] == f {
		delete(h.feeds, f.id)
	}
	f.stop()
}

// pollShare bounds polling to this part of the time, so that a thousand sessions are
// looked at less often instead of all the time.
const pollShare = 20

const (
	readTime    = 2 * time.Second  // that reading waits for a store that is away
	longestPoll = 10 * time.Second // between two rounds
)

// poll looks for what other programs have appended, while anybody is subscribed; where
// the store tells it by itself, less often.
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

// look looks at the feeds that are due. When the store is away it looks at no more.
func (h *Hub) look(round int) (failed bool) {
	known := h.unavailable.get() != nil
	for _, f := range h.all() {
		if !known && !f.due(round) {
			continue
		}
		err := f.check(h.read)
		if failed = err != nil && h.ctx.Err() == nil && unavailable(err); failed {
			if h.unavailable.note(err, h.opt.OutageDelay) {
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

// idle reports whether nobody is subscribed; whoever is next polls again.
func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = len(h.feeds) > 0
	return !h.polls
}
