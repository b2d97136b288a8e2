package session_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// deafLeases is a store that cannot be reached for renewals while it is away.
type deafLeases struct {
	*memory.Store
	away, hangs atomic.Bool
}

func (d *deafLeases) Renew(ctx context.Context, id string, l session.Lease) error {
	if d.hangs.Load() {
		<-ctx.Done()
	}
	if d.away.Load() || d.hangs.Load() {
		return errLost
	}
	return d.Store.Renew(ctx, id, l)
}

// A holder that cannot renew its lease ends its work before another process may have the
// session, even if the store hangs. After a renewal, new work may start.
func TestWorkStopsBeforeLease(t *testing.T) {
	for name, set := range map[string]func(*deafLeases, bool){
		"away":  func(d *deafLeases, is bool) { d.away.Store(is) },
		"hangs": func(d *deafLeases, is bool) { d.hangs.Store(is) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &deafLeases{Store: memory.New()}
				s := session.New(store, nil)
				l := newSession(t, s, "s")
				defer l.Close()
				fenced := make(chan error, 1)
				l.OnLeaseLost(func(err error) {
					if errors.Is(err, session.ErrFenced) {
						fenced <- err
					}
				})
				ctx, done := l.LeaseContext(t.Context())
				time.Sleep(10 * time.Minute)
				if ctx.Err() != nil {
					t.Fatalf("ended while the lease was renewed: %v", context.Cause(ctx))
				}
				set(store, true)
				<-ctx.Done()
				wantErr(t, context.Cause(ctx), session.ErrLeaseLost)
				if held := must(s.Lease(t.Context(), "s"))(t); held == nil || *held.Remaining < 5*time.Second {
					t.Errorf("it ended when the lease had: %+v", held)
				}
				late, lateDone := l.LeaseContext(t.Context())
				synctest.Wait()
				if late.Err() == nil {
					t.Error("something begins without the lease")
				}
				lateDone()
				done()
				time.Sleep(5 * time.Minute)
				set(store, false)
				time.Sleep(15 * time.Second)
				ctx, done = l.LeaseContext(t.Context())
				time.Sleep(10 * time.Minute)
				if ctx.Err() != nil {
					t.Errorf("ended after the store was back: %v", context.Cause(ctx))
				}
				done()
				if _, err := l.Append(t.Context(), userDraft("a", "a")); err != nil {
					t.Error(err)
				}
				select {
				case err := <-fenced:
					t.Errorf("nobody has taken it over: %v", err)
				default:
				}
			})
		})
	}
}

// A call that starts when the store is back renews the lease, so it may run.
func TestCallsAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafLeases{Store: memory.New()}
		l := newSession(t, session.New(store, nil), "s")
		defer l.Close()
		ctx, done := l.LeaseContext(t.Context())
		store.away.Store(true)
		<-ctx.Done()
		done()
		store.away.Store(false)
		ctx, done = l.LeaseContext(t.Context())
		defer done()
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("it ended at once: %v", context.Cause(ctx))
		}
	})
}

// A takeover of a session with a running tool waits for the tool's end: until the former
// holder releases its lease, at most until that expires. It learns nothing before.
func TestTakeoverWaitsForWork(t *testing.T) {
	running := func(t *testing.T, s *session.Sessions) *session.Log {
		l := newSession(t, s, "s", "a")
		started := must(session.NewDraft(record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}))(t)
		must(l.Append(t.Context(), started))(t)
		return l
	}
	for name, c := range map[string]struct {
		work        time.Duration // how long it takes to end; 0: nothing goes on
		away        bool          // the former holder cannot be reached, and its lease runs out
		least, most time.Duration
	}{
		"it is idle":           {0, false, 0, 11 * time.Second},
		"it ends its tool":     {3 * time.Second, false, 3 * time.Second, 6 * time.Second},
		"it does not answer":   {time.Hour, true, 15 * time.Second, 31 * time.Second},
		"its tool is stubborn": {time.Hour, false, 15 * time.Second, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &deafLeases{Store: memory.New()}
				s := session.New(store, nil)
				l := running(t, s)
				defer l.Close()
				ended := make(chan time.Time, 1)
				if c.work > 0 {
					ctx, done := l.LeaseContext(t.Context())
					go func() {
						<-ctx.Done()
						ended <- time.Now()
						time.Sleep(c.work)
						done()
					}()
				}
				time.Sleep(15 * time.Second)
				other := session.New(store.Store, nil)
				if c.away {
					store.away.Store(true)
				}
				began := time.Now()
				r := must(other.Restore(t.Context(), session.RestoreOptions{SessionID: "s", Takeover: true}))(t)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("taken over after %v", took)
				}
				if c.work > 0 {
					select {
					case at := <-ended:
						if at.Sub(began) > 25*time.Second {
							t.Errorf("the tool was told after %v", at.Sub(began))
						}
					default:
						t.Error("the tool was never told")
					}
				}
				_, err := l.Append(t.Context(), userDraft("late", "late"))
				wantErr(t, err, session.ErrFenced)
				time.Sleep(10 * time.Minute) // it keeps what it has
				if _, err := r.Log.Append(t.Context(), userDraft("b", "b")); err != nil {
					t.Error(err)
				}
				if err := r.Log.Close(); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// If the wait is cancelled, the lease is left to expire: no other process gets the session
// meanwhile.
func TestTakeoverCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		l := newSession(t, session.New(store, nil), "s", "a")
		started := must(session.NewDraft(record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}))(t)
		must(l.Append(t.Context(), started))(t)
		ctx, done := l.LeaseContext(t.Context())
		other := session.New(store, &session.Options{Holder: session.Holder{ID: "other"}})
		brief, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		_, err := other.Restore(brief, session.RestoreOptions{SessionID: "s", Takeover: true})
		wantErr(t, err, context.DeadlineExceeded)
		<-ctx.Done()
		_, err = session.New(store, &session.Options{Holder: session.Holder{ID: "third"}}).Open(t.Context(), "s", nil)
		wantErr(t, err, session.ErrBusy)
		done()
		l.Close()
	})
}

// Background work, such as a server, is ended each time the lease is lost, and a takeover
// waits for that.
func TestBackgroundEndsWithLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafLeases{Store: memory.New()}
		l := newSession(t, session.New(store, nil), "s", "a")
		started := must(session.NewDraft(record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}))(t)
		must(l.Append(t.Context(), started))(t)
		defer l.Close()
		told := make(chan error, 8)
		var ended time.Time
		l.OnLeaseLost(func(err error) {
			told <- err
			time.Sleep(5 * time.Second) // it takes that long
			ended = time.Now()
		})
		stop := l.OnLeaseLost(func(error) { t.Error("it was taken back") })
		stop()
		for range 2 {
			store.away.Store(true)
			wantErr(t, <-told, session.ErrLeaseLost)
			store.away.Store(false)
			time.Sleep(time.Minute)
		}
		r := must(session.New(store.Store, nil).Restore(t.Context(), session.RestoreOptions{SessionID: "s", Takeover: true}))(t)
		wantErr(t, <-told, session.ErrFenced)
		if now := time.Now(); ended.IsZero() || now.Sub(ended) > time.Second {
			t.Errorf("taken over at %v, what ran ended at %v", now, ended)
		}
		late := make(chan error, 1)
		l.OnLeaseLost(func(err error) { late <- err })
		wantErr(t, <-late, session.ErrFenced) // it is told even so
		if err := errors.Join(r.Log.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
}
