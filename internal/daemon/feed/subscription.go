package feed

import (
	"context"
	"io"
	"sync"
)

// Subscription is one subscriber of a feed. Except for Close, only one goroutine may use it. It has
// no queue of events, except for the texts so far when it begins: it only stores its position in the
// ring or in the log.
type Subscription struct {
	feed *feed
	once sync.Once
	done chan struct{}

	seq   int64        // the seq of the last record sent
	pos   int64        // the position in the ring to read next
	delta int64        // the number of the last delta that was sent, or that texts contain
	read  []readRecord // events that were read from the log and not sent yet

	catching bool     // catching up: the records up to target are sent without deltas
	target   int64    // a seq
	texts    []*Event // the texts so far, to be sent when the subscriber has caught up
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
		if !s.catching && len(s.texts) > 0 {
			e := s.texts[0]
			s.texts = s.texts[1:]
			e.Session, e.Seq, e.Time = s.feed.id, s.seq, s.feed.hub.opt.Clock()
			return e, nil
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
		case m.gap:
			return s.feed.gap(s), nil
		case m.wait != nil:
			select {
			case <-m.wait:
			case <-ctx.Done():
			case <-s.done:
			case <-s.feed.hub.ctx.Done():
			}
		default:
			if s.catching { // deltas after target can be lost, which is reported before the records that follow them
				m.until = min(m.until, s.target)
			}
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

// step says what a subscriber does next: return an event or an error, report lost deltas, wait, or
// read the log up to until.
type step struct {
	event *Event
	err   error
	gap   bool
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
		return step{event: f.ownEvent(s, CaughtUp)}
	case !s.catching && f.dropped > s.delta:
		return step{gap: true}
	}
	for p := max(s.pos, f.first); p < f.first+int64(len(f.ring)); p++ {
		n := &f.ring[p-f.first]
		if !s.isObsolete(n) {
			if n.before() > s.seq {
				return step{until: n.before()}
			}
			return f.deliver(s, p, n)
		}
		s.pos = p + 1
	}
	if s.seq < f.head {
		return step{until: f.head}
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return step{wait: f.wake}
}

// isObsolete reports whether a subscriber no longer needs an entry: it has the record or the delta.
func (s *Subscription) isObsolete(n *entry) bool {
	switch n.state {
	case stored:
		return n.seq <= s.seq
	case delta, lost:
		return n.number <= s.delta
	}
	return n.seq < s.seq
}

// deliver returns the entry at p to a subscriber.
func (f *feed) deliver(s *Subscription, p int64, n *entry) step {
	s.pos = p + 1
	switch n.state {
	case lost:
		return step{gap: true}
	case delta:
		s.delta = n.number
	case stored:
		s.seq = n.seq
	}
	return step{event: n.event, err: n.err}
}

// gap returns a Gap event, because deltas were lost, and makes the subscriber catch up.
func (f *feed) gap(s *Subscription) *Event {
	f.hub.liveMu.Lock()
	defer f.hub.liveMu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.join(s)
	return f.ownEvent(s, Gap)
}

// ownEvent returns an event that only one subscriber gets.
func (f *feed) ownEvent(s *Subscription, k Kind) *Event {
	return &Event{Kind: k, Session: f.id, Seq: s.seq, Time: f.hub.opt.Clock()}
}
