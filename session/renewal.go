package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
)

// renewal is the lease of a log and the goroutine that renews it.
//
//	acquired ─► renewed, renewed, … ─► Close: released
//	     └► not renewed for most of the TTL ─► lost: work ends ─► renewed later: new work may start
//	     └► taken over ─► fenced: work ends ─► released, which lets the new holder start
type renewal struct {
	leaser Leaser // nil when the store has no leases
	lease  Lease
	fenced atomic.Bool
	// displaced is true if the previous holder may still be running.
	displaced bool
	former    time.Time // until this time the previous holder may have work in progress
	unsafe    bool      // that time was not waited for: the lease is left to expire
	cancel    context.CancelFunc
	done      chan struct{}

	workMu   sync.Mutex      // guards the fields below
	leaseCtx context.Context // ends when the lease is lost
	end      context.CancelCauseFunc
	lapse    *time.Timer
	taken    context.Context // ends when the session is taken over
	take     context.CancelCauseFunc
	work     int // number of work items under the lease
	enders   map[*leaseEnder]bool
	changed  chan struct{} // signals that work has started or ended
}

// acquire takes the session's lease if the store has leases.
func (l *Log) acquire(ctx context.Context, takeover bool) error {
	leaser, ok := As[Leaser](l.s.store)
	if !ok {
		return nil
	}
	me := l.s.opt.Holder
	for first := (*BusyError)(nil); ; {
		requested := time.Now()
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
			return first // the holder is more useful than the timeout
		case err != nil:
			return err
		default:
			l.leaser, l.lease = leaser, lease
			if l.former.IsZero() {
				l.lease.Previous = nil
			}
			l.begin(requested)
			return nil
		}
	}
}

// mayEnd reports whether it is worth waiting for a held session: the store cannot tell whether the
// holder is alive, the holder's own expiry has passed, and the lease was not renewed since this
// process first saw it. A holder that does not renew the lease for a whole TTL while this process
// watches has ended.
func (l *Log) mayEnd(first, busy *BusyError) bool {
	h := busy.Lease
	return h.Remaining == nil && !l.s.opt.Clock().Before(h.Expires) &&
		(first == nil || first.Lease.Epoch == h.Epoch && first.Lease.Expires.Equal(h.Expires))
}

// remaining returns how much longer a lease holder may have work in progress.
func remaining(held Lease) time.Duration {
	switch {
	case held.Remaining != nil && held.Previous == nil:
		return *held.Remaining
	case held.TTL > 0:
		return held.TTL
	}
	return defaultTTL
}

// leaseEnded reports whether a lease has ended, as far as is known. If the store cannot tell, a
// lease counts as ended when it did not change for its whole TTL by the monotonic clock of this
// process.
func (s *Sessions) leaseEnded(id string, held Lease) bool {
	if held.Remaining != nil {
		return *held.Remaining <= 0
	}
	s.leasesMu.Lock()
	defer s.leasesMu.Unlock()
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

// seenLease is a lease and when it was first seen unchanged.
type seenLease struct {
	epoch   int64
	expires time.Time
	at      time.Time // time by this process's clock
}

// Lease returns the lease of a running session. It is nil if no process holds it, if the holder
// has ended or let the lease expire, and in a store without leases. It takes no lease, changes
// nothing, and does not check that the session exists.
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

// OwnsLease reports whether these Sessions hold the lease, and not another program.
func (s *Sessions) OwnsLease(l *Lease) bool { return l != nil && l.Holder.ID == s.opt.Holder.ID }

// heldLease is Lease that also returns an expired lease, which its holder may still renew.
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

// begin starts to measure the time of a lease that was requested at the given time by the clock of
// this process.
func (l *Log) begin(requested time.Time) {
	l.changed = make(chan struct{}, 1)
	l.taken, l.take = context.WithCancelCause(context.Background())
	l.leaseCtx, l.end = context.WithCancelCause(l.taken)
	l.lapse = time.AfterFunc(time.Until(l.leaseEnds(requested)), l.leaseExpired)
}

// leaseEnds returns when work under a lease renewed at that time must end: early enough that it
// has ended before the lease expires.
func (l *Log) leaseEnds(renewed time.Time) time.Time {
	return renewed.Add(l.s.opt.TTL - l.s.opt.TTL/4)
}

// leaseExpired ends the work because the lease could not be renewed.
func (l *Log) leaseExpired() {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	err := &Error{Op: "renew", Session: l.id, Err: ErrLeaseLost, Hint: "check the store; the session continues when it is reachable again"}
	l.notifyLost(err)
	l.end(err)
}

func (l *Log) hasLapsed() bool {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	return l.leaseCtx.Err() != nil && l.taken.Err() == nil
}

// renewed restarts the time of the lease. Work that was ended stays ended.
func (l *Log) renewed(requested time.Time) {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	if l.leaseCtx.Err() != nil && l.taken.Err() == nil {
		l.leaseCtx, l.end = context.WithCancelCause(l.taken)
	}
	l.lapse.Reset(time.Until(l.leaseEnds(requested)))
}

// fence ends all work because the session was taken over.
func (l *Log) fence() {
	l.fenced.Store(true)
	if l.leaser == nil {
		return
	}
	l.workMu.Lock()
	defer l.workMu.Unlock()
	if l.taken.Err() == nil {
		err := &Error{Op: "renew", Session: l.id, Err: ErrFenced, Hint: "holdfast run --resume " + l.id}
		l.notifyLost(err)
		l.take(err)
	}
}

// LeaseContext returns a context for work that may run only while the log has its lease, such as a
// tool call. It ends with ctx, and with an error that wraps [ErrFenced] or [ErrLeaseLost] before
// another process can get the session. Call done when the work has ended: a process that takes the
// session over waits for that. If the lease was lost, LeaseContext first tries to renew it,
// because the store may be reachable again.
func (l *Log) LeaseContext(ctx context.Context) (_ context.Context, done func()) {
	if l.leaser == nil {
		return ctx, func() {}
	}
	if l.hasLapsed() {
		_ = l.renew(ctx) // if it fails, the returned context has ended
	}
	l.workMu.Lock()
	defer l.workMu.Unlock()
	held := l.leaseCtx
	l.work++
	l.notifyRenewal()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel(nil)
		l.workMu.Lock()
		defer l.workMu.Unlock()
		l.work--
		l.notifyRenewal()
	})
}

// leaseEnder ends work that does not use [Log.LeaseContext].
type leaseEnder struct{ f func(error) }

// OnLeaseLost calls f on its own goroutine whenever the lease is lost: with an error that wraps
// [ErrLeaseLost] if it could not be renewed for most of its time, and with one that wraps
// [ErrFenced] if the session was taken over. f ends the work of the session that does not use
// [Log.LeaseContext]; a process that takes the session over waits until f has returned. stop
// unregisters f.
func (l *Log) OnLeaseLost(f func(error)) (stop func()) {
	if l.leaser == nil {
		return func() {}
	}
	l.workMu.Lock()
	defer l.workMu.Unlock()
	e := &leaseEnder{f}
	if l.enders == nil {
		l.enders = map[*leaseEnder]bool{}
	}
	l.enders[e] = true
	if l.leaseCtx.Err() != nil { // already lost
		l.runEnder(e, context.Cause(l.leaseCtx))
	}
	return func() {
		l.workMu.Lock()
		defer l.workMu.Unlock()
		delete(l.enders, e)
	}
}

// notifyLost ends everything that runs under the lease. workMu is locked.
func (l *Log) notifyLost(err error) {
	for e := range l.enders {
		l.runEnder(e, err)
	}
}

// runEnder calls e and counts it as work until it returns. workMu is locked.
func (l *Log) runEnder(e *leaseEnder, err error) {
	l.work++
	l.notifyRenewal()
	go func() {
		e.f(err)
		l.workMu.Lock()
		defer l.workMu.Unlock()
		l.work--
		l.notifyRenewal()
	}()
}

// notifyRenewal wakes the renewal because work has started or ended. workMu is locked.
func (l *Log) notifyRenewal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *Log) working() bool {
	l.workMu.Lock()
	defer l.workMu.Unlock()
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

// lookEvery is how often a log with work in progress checks whether it was taken over.
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
		case <-l.taken.Done(): // an append found that the session was taken over
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
	requested := time.Now()
	l.workMu.Lock()
	lease := l.lease
	l.workMu.Unlock()
	lease.Expires = l.s.opt.Clock().UTC().Add(l.s.opt.TTL)
	// If the store does not respond, there is time for another attempt before the lease expires.
	ctx, cancel := context.WithTimeout(ctx, max(l.s.opt.TTL/3, time.Millisecond))
	defer cancel()
	err := l.leaser.Renew(ctx, l.id, lease)
	switch {
	case err == nil:
		l.renewed(requested)
	case errors.Is(err, ErrFenced):
		l.fence()
	}
	return err
}

// checkTakeover checks whether the session was taken over. It ignores errors of the store.
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

// giveBack releases the old lease once all work under it has ended, so that the new holder can
// start.
func (l *Log) giveBack(ctx context.Context) {
	for l.working() {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		}
	}
	_ = l.release() // on failure the new holder waits until the lease expires
}

// awaitFormer waits until the previous holder has no work in progress: it released the lease, it
// ended, or its lease has expired.
func (l *Log) awaitFormer(ctx context.Context) error {
	l.workMu.Lock()
	former := l.lease.Previous
	l.workMu.Unlock()
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
	l.workMu.Lock()
	defer l.workMu.Unlock()
	l.lease.Previous = nil
	return nil
}
