package session

import (
	"context"
	"errors"
	"time"
)

// acquire takes the session's lease when the store has leases.
func (l *Log) acquire(ctx context.Context, takeover bool) error {
	leaser, ok := As[Leaser](l.s.store)
	if !ok {
		return nil
	}
	now := l.s.opt.Clock().UTC()
	me := l.s.opt.Holder
	want := Lease{Holder: me, Since: now, Expires: now.Add(l.s.opt.TTL)}
	lease, err := leaser.Acquire(ctx, l.id, want, func(held Lease) bool {
		gone := held.Holder.ID != me.ID && held.Holder.Gone(me)
		may := takeover || gone || !now.Before(held.Expires)
		l.displaced = may && !gone
		return may
	})
	if errors.Is(err, ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	l.leaser, l.lease = leaser, lease
	return nil
}

// Held says who holds a session, or nil when nobody does: also when whoever had it
// has ended or let its lease expire, and in a store without leases. It takes no lease
// and changes nothing. Whether the session exists is not asked.
func (s *Sessions) Held(ctx context.Context, id string) (*Lease, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	held, err := s.holds(ctx, id)
	if held == nil || err != nil || !s.opt.Clock().Before(held.Expires) {
		return nil, err
	}
	return held, nil
}

// Own reports whether a lease is one of these Sessions, and not of another program.
func (s *Sessions) Own(l *Lease) bool { return l != nil && l.Holder.ID == s.opt.Holder.ID }

// holds is Held that does not ask whether the lease has expired: whoever has it may renew
// it yet.
func (s *Sessions) holds(ctx context.Context, id string) (*Lease, error) {
	r, ok := As[LeaseReader](s.store)
	if !ok {
		return nil, nil
	}
	held, err := r.Held(ctx, id)
	if errors.Is(err, ErrUnsupported) {
		return nil, nil
	}
	if err != nil || held == nil {
		return nil, err
	}
	me := s.opt.Holder
	if held.Holder.ID != me.ID && held.Holder.Gone(me) {
		return nil, nil
	}
	return held, nil
}

// keepLease renews the lease until the log is closed.
func (l *Log) keepLease() {
	if l.leaser == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go func() {
		defer close(l.done)
		l.renewEvery(ctx, max(l.s.opt.TTL/3, time.Millisecond))
	}()
}

func (l *Log) renewEvery(ctx context.Context, period time.Duration) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		lease := l.lease
		lease.Expires = l.s.opt.Clock().UTC().Add(l.s.opt.TTL)
		// Any other failure is left to the next round, and to appending.
		if err := l.leaser.Renew(ctx, l.id, lease); errors.Is(err, ErrFenced) {
			l.fenced.Store(true)
			return
		}
	}
}
