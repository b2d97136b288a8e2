package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
)

// renewal is the lease of a log and who keeps it alive.
//
//	acquired ─► renewed, renewed, … ─► Close: given back
//	     └► nothing renewed for most of the TTL ─► lapsed: work ends ─► renewed after all: work may begin
//	     └► taken over ─► fenced: work ends, for good ─► given back, which tells whoever has it now
type renewal struct {
	leaser Leaser // nil when the store has no leases
	lease  Lease
	fenced atomic.Bool
	// displaced: whoever had the lease before may still run.
	displaced bool
	former    time.Time // until then it may have something under way
	unsafe    bool      // nobody has waited for that: the lease is left to run out
	cancel    context.CancelFunc
	done      chan struct{}

	lost    sync.Mutex      // guards what follows
	held    context.Context // ends when the lease is over
	end     context.CancelCauseFunc
	lapse   *time.Timer
	taken   context.Context // ends when it was taken over
	take    context.CancelCauseFunc
	work    int // how much goes on while it is held
	enders  map[*leaseEnder]bool
	changed chan struct{} // work has begun or ended
}

// acquire takes the session's lease when the store has leases.
func (l *Log) acquire(ctx context.Context, takeover bool) error {
	leaser, ok := As[Leaser](l.s.store)
	if !ok {
		return nil
	}
	me := l.s.opt.Holder
	for first := (*BusyError)(nil); ; {
		asked := time.Now()
		now := l.s.opt.Clock().UTC()
		want := Lease{Holder: me, Since: now, Expires: now.Add(l.s.opt.TTL), TTL: l.s.opt.TTL}
		lease, err := leaser.Acquire(ctx, l.id, want, func(held Lease) bool {
			gone := held.Holder.ID != me.ID && held.Holder.HasEnded(me)
			over := l.s.leaseEnded(l.id, held)
			l.displaced, l.former = !gone, time.Time{}
			if !gone && !over || held.Previous != nil {
				l.former = time.Now().Add(remaining(held))
			}
			return takeover || gone || over
		})
		switch busy, held := errors.AsType[*BusyError](err); {
		case errors.Is(err, ErrUnsupported):
			return nil
		case held && l.mayEnd(first, busy):
			first = busy
			if wait.For(ctx, min(time.Second, remaining(busy.Lease)/10)) != nil {
				return busy
			}
		case first != nil && ctx.Err() != nil:
			return first // who has it says more than that there was no time
		case err != nil:
			return err
		default:
			l.leaser, l.lease = leaser, lease
			if l.former.IsZero() {
				l.lease.Previous = nil
			}
			l.begin(asked)
			return nil
		}
	}
}

// mayEnd reports whether a session that is held is worth waiting for: the store cannot tell
// whether its holder lives, whose own clock says that it has ended, and nobody has renewed
// the lease since we began to look. A holder that does not renew it for the whole TTL while
// we look has ended.
func (l *Log) mayEnd(first, busy *BusyError) bool {
	h := busy.Lease
	return h.Remaining == nil && !l.s.opt.Clock().Before(h.Expires) &&
		(first == nil || first.Lease.Epoch == h.Epoch && first.Lease.Expires.Equal(h.Expires))
}

// remaining is how much longer the holder of a lease may have something under way.
func remaining(held Lease) time.Duration {
	switch {
	case held.Remaining != nil && held.Previous == nil:
		return *held.Remaining
	case held.TTL > 0:
		return held.TTL
	}
	return defaultTTL
}

// leaseEnded reports whether a lease has ended, as far as can be told. Where the store cannot,
// it is who looks: a lease that stayed as it is for all of its time, on our own steady
// clock, is not renewed by anybody.
func (s *Sessions) leaseEnded(id string, held Lease) bool {
	if held.Remaining != nil {
		return *held.Remaining <= 0
	}
	s.seen.Lock()
	defer s.seen.Unlock()
	was, ok := s.leases[id]
	if !ok || was.epoch != held.Epoch || !was.expires.Equal(held.Expires) {
		if s.leases == nil {
			s.leases = map[string]seenLease{}
		}
		s.leases[id] = seenLease{held.Epoch, held.Expires, time.Now()}
		return false
	}
	return time.Since(was.at) >= remaining(held)
}

// seenLease is a lease as it was seen first.
type seenLease struct {
	epoch   int64
	expires time.Time
	at      time.Time // by our own clock
}

// Lease says who holds a session, or nil when nobody does: also when whoever had it
// has ended or let its lease expire, and in a store without leases. It takes no lease
// and changes nothing. Whether the session exists is not asked.
func (s *Sessions) Lease(ctx context.Context, id string) (*Lease, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	held, err := s.heldLease(ctx, id)
	if held == nil || err != nil || s.leaseEnded(id, *held) {
		return nil, err
	}
	return held, nil
}

// OwnsLease reports whether a lease is one of these Sessions, and not of another program.
func (s *Sessions) OwnsLease(l *Lease) bool { return l != nil && l.Holder.ID == s.opt.Holder.ID }

// heldLease is Held that does not ask whether the lease has expired: whoever has it may renew
// it yet.
func (s *Sessions) heldLease(ctx context.Context, id string) (*Lease, error) {
	r, ok := As[Leaser](s.store)
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
	if held.Holder.ID != me.ID && held.Holder.HasEnded(me) {
		return nil, nil
	}
	return held, nil
}

// begin counts the time of a lease that was asked for at a moment of our own clock.
func (l *Log) begin(asked time.Time) {
	l.changed = make(chan struct{}, 1)
	l.taken, l.take = context.WithCancelCause(context.Background())
	l.held, l.end = context.WithCancelCause(l.taken)
	l.lapse = time.AfterFunc(time.Until(l.leaseEnds(asked)), l.leaseExpired)
}

// leaseEnds is when what goes on under a lease that was renewed at a moment ends: early enough
// that it has ended when the lease does.
func (l *Log) leaseEnds(renewed time.Time) time.Time {
	return renewed.Add(l.s.opt.TTL - l.s.opt.TTL/4)
}

// leaseExpired ends what goes on: nobody could renew the lease.
func (l *Log) leaseExpired() {
	l.lost.Lock()
	defer l.lost.Unlock()
	err := &Error{Op: "renew", Session: l.id, Err: ErrLeaseLost, Hint: "see that the store answers; the session goes on by itself once it does"}
	l.notifyLost(err)
	l.end(err)
}

func (l *Log) hasLapsed() bool {
	l.lost.Lock()
	defer l.lost.Unlock()
	return l.held.Err() != nil && l.taken.Err() == nil
}

// renewed counts the time of the lease anew. What ended with it stays ended.
func (l *Log) renewed(asked time.Time) {
	l.lost.Lock()
	defer l.lost.Unlock()
	if l.held.Err() != nil && l.taken.Err() == nil {
		l.held, l.end = context.WithCancelCause(l.taken)
	}
	l.lapse.Reset(time.Until(l.leaseEnds(asked)))
}

// fence ends everything: the session was taken over.
func (l *Log) fence() {
	l.fenced.Store(true)
	if l.leaser == nil {
		return
	}
	l.lost.Lock()
	defer l.lost.Unlock()
	if l.taken.Err() == nil {
		err := &Error{Op: "renew", Session: l.id, Err: ErrFenced, Hint: "holdfast run --resume " + l.id}
		l.notifyLost(err)
		l.take(err)
	}
}

// LeaseContext returns a context for what may go on only while the log has its lease: a tool
// that runs, above all. It ends with ctx, and with an error that wraps [ErrFenced] or
// [ErrLeaseLost] before anybody else may have the session. What goes on has ended when done
// is called; whoever takes the session over waits for that. A lease that nobody could renew
// for a while is renewed first: the store may be back.
func (l *Log) LeaseContext(ctx context.Context) (_ context.Context, done func()) {
	if l.leaser == nil {
		return ctx, func() {}
	}
	if l.hasLapsed() {
		_ = l.renew(ctx) // when it fails, nothing begins
	}
	l.lost.Lock()
	defer l.lost.Unlock()
	held := l.held
	l.work++
	l.notifyRenewal()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel(nil)
		l.lost.Lock()
		defer l.lost.Unlock()
		l.work--
		l.notifyRenewal()
	})
}

// leaseEnder ends what runs beside the work of [Log.LeaseContext].
type leaseEnder struct{ f func(error) }

// OnLeaseLost calls f, on a goroutine of its own, whenever the lease is lost: with an error that
// wraps [ErrLeaseLost] when nobody could renew it for most of its time, and with one that
// wraps [ErrFenced] when the session is taken over. f ends what runs for the session beside
// the work of [Log.LeaseContext]; whoever takes the session over waits until f has returned.
// stop takes that back.
func (l *Log) OnLeaseLost(f func(error)) (stop func()) {
	if l.leaser == nil {
		return func() {}
	}
	l.lost.Lock()
	defer l.lost.Unlock()
	e := &leaseEnder{f}
	if l.enders == nil {
		l.enders = map[*leaseEnder]bool{}
	}
	l.enders[e] = true
	if l.held.Err() != nil { // it was lost before
		l.runEnder(e, context.Cause(l.held))
	}
	return func() {
		l.lost.Lock()
		defer l.lost.Unlock()
		delete(l.enders, e)
	}
}

// notifyLost has everything end that does with the lease. lost is held.
func (l *Log) notifyLost(err error) {
	for e := range l.enders {
		l.runEnder(e, err)
	}
}

// runEnder counts what is being ended as work until it has ended. lost is held.
func (l *Log) runEnder(e *leaseEnder, err error) {
	l.work++
	l.notifyRenewal()
	go func() {
		e.f(err)
		l.lost.Lock()
		defer l.lost.Unlock()
		l.work--
		l.notifyRenewal()
	}()
}

// notifyRenewal tells who renews the lease that work has begun or ended. lost is held.
func (l *Log) notifyRenewal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *Log) working() bool {
	l.lost.Lock()
	defer l.lost.Unlock()
	return l.work > 0
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
		if l.renewEvery(ctx, max(l.s.opt.TTL/3, time.Millisecond)) {
			l.giveBack(ctx)
		}
	}()
}

// lookEvery is how often somebody with work under way looks whether it was taken over.
const lookEvery = time.Second

// renewEvery renews the lease, and reports whether it was taken over before ctx ended.
func (l *Log) renewEvery(ctx context.Context, period time.Duration) (taken bool) {
	again := min(lookEvery, period)
	due := time.Now().Add(period)
	t := time.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-l.taken.Done(): // an append has found out
			return true
		case <-l.changed:
		case <-t.C:
			if time.Now().Before(due) {
				l.checkTakeover(ctx)
				break
			}
			due = time.Now().Add(period)
			if err := l.renew(ctx); err != nil {
				due = time.Now().Add(again)
			}
		}
		next := time.Until(due)
		if l.working() {
			next = min(next, again)
		}
		t.Reset(max(next, 0))
	}
}

// renew renews the lease once.
func (l *Log) renew(ctx context.Context) error {
	asked := time.Now()
	l.lost.Lock()
	lease := l.lease
	l.lost.Unlock()
	lease.Expires = l.s.opt.Clock().UTC().Add(l.s.opt.TTL)
	// A store that hangs is asked again before the time is over.
	ctx, cancel := context.WithTimeout(ctx, max(l.s.opt.TTL/3, time.Millisecond))
	defer cancel()
	err := l.leaser.Renew(ctx, l.id, lease)
	switch {
	case err == nil:
		l.renewed(asked)
	case errors.Is(err, ErrFenced):
		l.fence()
	}
	return err
}

// checkTakeover finds out whether the session was taken over. A failure says nothing.
func (l *Log) checkTakeover(ctx context.Context) {
	r, ok := As[Leaser](l.s.store)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	if held, err := r.Held(ctx, l.id); err == nil && held != nil && held.Epoch > l.lease.Epoch {
		l.fence()
	}
}

// giveBack tells whoever has taken the session over that nothing of ours goes on any more,
// as soon as that is so.
func (l *Log) giveBack(ctx context.Context) {
	for l.working() {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		}
	}
	_ = l.release() // who waits for it waits for the end of the lease, too
}

// awaitFormer waits until whoever had the session before has nothing under way: it has
// said so, it has ended, or its lease is over.
func (l *Log) awaitFormer(ctx context.Context) error {
	l.lost.Lock()
	former := l.lease.Previous
	l.lost.Unlock()
	r, ok := As[Leaser](l.s.store)
	if former == nil || !ok {
		return nil
	}
	for time.Now().Before(l.former) && !former.Holder.HasEnded(l.s.opt.Holder) {
		held, err := r.Held(ctx, l.id)
		if err == nil && held != nil && held.Epoch == l.lease.Epoch && held.Previous == nil {
			break
		}
		err = l.usable("take over")
		if err == nil && wait.For(ctx, min(200*time.Millisecond, time.Until(l.former))) != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			l.unsafe = true
			return err
		}
	}
	l.lost.Lock()
	defer l.lost.Unlock()
	l.lease.Previous = nil
	return nil
}
