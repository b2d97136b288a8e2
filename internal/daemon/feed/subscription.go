package feed

import (
	"context"
	"io"
	"sync"
)

// Subscription is one reader of a feed. It is for one goroutine, but for Close. It has
// no queue: it knows its place in the ring, or in the log.
type Subscription struct {
	feed *feed
	once sync.Once
	done chan struct{}

	seq    int64        // of the last record told
	pos    int64        // the place in the ring to look at next
	deltas int64        // deltas before that place
	read   []readRecord // read from the log and not told yet

	catching bool  // towards target, without deltas
	target   int64 // a seq
	mark     int64 // deltas before what follows target
}

// Next returns the next event as soon as there is one. Errors: that of ctx, io.EOF
// after Close, session.ErrNotFound when the session was deleted, and the store's; a
// record that cannot be read is session.ErrCorrupt (session.ErrNewer when this version
// does not know it) and the next call goes on behind it.
func (s *Subscription) Next(ctx context.Context) (*Event, error) {
	for {
		if err := s.ended(ctx); err != nil {
			return nil, err
		}
		if len(s.read) > 0 && (!s.catching || s.seq < s.target) {
			r := s.read[0]
			s.read[0] = readRecord{}
			s.read = s.read[1:]
			s.seq = max(s.seq, r.seq)
			return r.event, r.err
		}
		m := s.feed.next(s)
		switch {
		case m.event != nil || m.err != nil:
			return m.event, m.err
		case m.wait != nil:
			select {
			case <-m.wait:
			case <-ctx.Done():
			case <-s.done:
			case <-s.feed.hub.ctx.Done():
			}
		default:
			records, err := s.feed.read(ctx, s.seq, m.until)
			if len(records) == 0 && err != nil {
				return nil, err
			}
			s.read = records
		}
	}
}

// ended says why there is no next event.
func (s *Subscription) ended(ctx context.Context) error {
	select {
	case <-s.done:
		return io.EOF
	case <-s.feed.hub.ctx.Done():
		return io.EOF
	default:
		return ctx.Err()
	}
}

// Close ends the subscription; a Next that waits returns. Closing twice does nothing.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.done)
		s.feed.hub.unfollow(s.feed)
	})
}

// step is what a subscriber does next: it returns an event or an error, waits, or
// reads the log up to until.
type step struct {
	event *Event
	err   error
	wait  <-chan struct{}
	until int64
}

// next finds a subscriber's next move.
func (f *feed) next(s *Subscription) step {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.deleted != nil:
		return step{err: f.deleted}
	case s.catching && s.seq >= s.target:
		s.catching = false
		s.deltas = max(s.deltas, s.mark)
		return step{event: f.note(s, CaughtUp)}
	case !s.catching && s.pos < f.first && f.dropped() > s.deltas:
		return step{event: f.gap(s)}
	}
	for p := max(s.pos, f.first); p < f.first+int64(len(f.ring)); p++ {
		n := &f.ring[p-f.first]
		if !s.passed(n) {
			if n.before() > s.seq {
				return step{until: n.before()}
			}
			return f.give(s, p, n)
		}
		s.step(p, n)
	}
	if s.seq < f.head {
		return step{until: f.head}
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return step{wait: f.wake}
}

// passed reports whether a subscriber needs an entry no more: it knows the record, or
// the delta is void.
func (s *Subscription) passed(n *entry) bool {
	if n.state == stored {
		return n.seq <= s.seq
	}
	return n.seq < s.seq || s.catching && n.seq < s.target
}

// step goes behind the entry at p.
func (s *Subscription) step(p int64, n *entry) {
	s.pos, s.deltas = p+1, n.prior
	if n.state == delta {
		s.deltas++
	}
}

// give tells a subscriber the entry at p.
func (f *feed) give(s *Subscription, p int64, n *entry) step {
	s.step(p, n)
	switch n.state {
	case lost:
		return step{event: f.gap(s)}
	case stored:
		s.seq = n.seq
	}
	return step{event: n.event, err: n.err}
}

// gap begins to catch up without the deltas that are lost.
func (f *feed) gap(s *Subscription) *Event {
	s.catching, s.target, s.mark = true, f.head, max(f.atHead, f.dropped())
	return f.note(s, Gap)
}

// note is an event for one subscriber alone.
func (f *feed) note(s *Subscription, k Kind) *Event {
	return &Event{Kind: k, Session: f.id, Seq: s.seq, Time: f.hub.opt.Clock()}
}
