package feed

import (
	"context"
	"io"
	"sync"
)

// Subscription is one subscriber of a feed. Except for Close, only one goroutine may use it. It has
// no queue of events: it only stores its position in the ring or in the log.
type Subscription struct {
	feed *feed
	once sync.Once
	done chan struct{}

	seq    int64        // the seq of the last record sent
	pos    int64        // the position in the ring to read next
	deltas int64        // deltas before that position
	read   []readRecord // events that were read from the log and not sent yet

	catching bool  // catching up: the records up to target are sent without deltas
	target   int64 // a seq
	mark     int64 // deltas before the events after target
}

// Next returns the next event; it waits for one if necessary. Its errors are: the error of ctx,
// io.EOF after Close, session.ErrNotFound if the session was deleted, and errors of the store. If a
// record cannot be read, the error is session.ErrCorrupt (session.ErrNewer if this version does not
// know the record), and the next call continues after that record.
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

// ended returns the reason if there is no next event.
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

// Close ends the subscription; a waiting Next returns. Calling it twice has no effect.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.done)
		s.feed.hub.unfollow(s.feed)
	})
}

// step says what a subscriber does next: return an event or an error, wait, or read the log up to
// until.
type step struct {
	event *Event
	err   error
	wait  <-chan struct{}
	until int64
}

// next determines a subscriber's next step.
func (f *feed) next(s *Subscription) step {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.deleted != nil:
		return step{err: f.deleted}
	case s.catching && s.seq >= s.target:
		s.catching = false
		s.deltas = max(s.deltas, s.mark)
		return step{event: f.ownEvent(s, CaughtUp)}
	case !s.catching && s.pos < f.first && f.dropped() > s.deltas:
		return step{event: f.gap(s)}
	}
	for p := max(s.pos, f.first); p < f.first+int64(len(f.ring)); p++ {
		n := &f.ring[p-f.first]
		if !s.isObsolete(n) {
			if n.before() > s.seq {
				return step{until: n.before()}
			}
			return f.deliver(s, p, n)
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

// isObsolete reports whether a subscriber no longer needs an entry: it has the record, or the delta
// is no longer valid.
func (s *Subscription) isObsolete(n *entry) bool {
	if n.state == stored {
		return n.seq <= s.seq
	}
	return n.seq < s.seq || s.catching && n.seq < s.target
}

// step moves the subscriber's position past the entry at p.
func (s *Subscription) step(p int64, n *entry) {
	s.pos, s.deltas = p+1, n.prior
	if n.state == delta {
		s.deltas++
	}
}

// deliver returns the entry at p to a subscriber.
func (f *feed) deliver(s *Subscription, p int64, n *entry) step {
	s.step(p, n)
	switch n.state {
	case lost:
		return step{event: f.gap(s)}
	case stored:
		s.seq = n.seq
	}
	return step{event: n.event, err: n.err}
}

// gap returns a Gap event, because deltas were lost, and makes the subscriber catch up.
func (f *feed) gap(s *Subscription) *Event {
	s.catching, s.target, s.mark = true, f.head, max(f.atHead, f.dropped())
	return f.ownEvent(s, Gap)
}

// ownEvent returns an event that only one subscriber gets.
func (f *feed) ownEvent(s *Subscription, k Kind) *Event {
	return &Event{Kind: k, Session: f.id, Seq: s.seq, Time: f.hub.opt.Clock()}
}
