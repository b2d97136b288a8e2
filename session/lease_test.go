package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func TestOpenTwiceIsBusy(t *testing.T) {
	store := memory.New()
	s := session.New(store, nil)
	l := newSession(t, s, "s", "a")
	for name, other := range map[string]*session.Sessions{"the same Sessions": s, "another": session.New(store, nil)} {
		_, err := other.Open(t.Context(), "s", nil)
		wantErr(t, err, session.ErrBusy)
		busy, ok := errors.AsType[*session.BusyError](err)
		if !ok || busy.Session != "s" || busy.Lease.Holder.PID != os.Getpid() || busy.Lease.Since.IsZero() {
			t.Errorf("%s: %+v", name, err)
		}
	}
	wantErr(t, s.Delete(t.Context(), "s"), session.ErrBusy)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = must(s.Open(t.Context(), "s", nil))(t)
	l.Close()
}

func TestTakeover(t *testing.T) {
	s := session.New(memory.New(), nil)
	old := newSession(t, s, "s", "a")
	l := must(s.Open(t.Context(), "s", &session.OpenOptions{Takeover: true}))(t)
	defer l.Close()
	if l.Lease().Epoch <= old.Lease().Epoch {
		t.Fatal("the epoch did not grow")
	}
	for range 2 { // the second time without asking the store
		_, err := old.Append(t.Context(), userDraft("b", "b"))
		wantErr(t, err, session.ErrFenced)
	}
	if _, err := l.Append(t.Context(), userDraft("c", "c")); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), userDraft("d", "d")); err != nil {
		t.Fatalf("closing the fenced log released the new lease: %v", err)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "c", "d")
}

func TestRenewalKeepsTheLeaseAndNoticesItsLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a, b := session.New(store, nil), session.New(store, nil)
		l := must(a.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
		time.Sleep(10 * time.Minute) // the bubble's clock: far beyond the lease's 30 seconds
		_, err := b.Open(t.Context(), "s", nil)
		wantErr(t, err, session.ErrBusy)

		thief := must(b.Open(t.Context(), "s", &session.OpenOptions{Takeover: true}))(t)
		time.Sleep(11 * time.Second)
		synctest.Wait() // the next renewal has found out
		_, err = l.AppendAt(t.Context(), l.Head(), userDraft("x", "x"))
		wantErr(t, err, session.ErrFenced)
		if hint := session.Hint(err); hint == "" {
			t.Error("a fenced append has no hint")
		}
		l.Close()
		thief.Close()
	})
}

func TestExpiredLeaseIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		far := session.Holder{ID: "far", Host: "elsewhere", PID: 7}
		if _, err := store.Acquire(t.Context(), "s", session.Lease{Holder: far, TTL: time.Minute}, nil); err != nil {
			t.Fatal(err)
		}
		s := session.New(store, nil)
		time.Sleep(time.Minute - 1)
		_, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
		wantErr(t, err, session.ErrBusy)
		time.Sleep(1)
		must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t).Close()
	})
}

// A clock that is ahead takes over nothing, and a clock that is behind gives nothing away.
func TestClockSkewNoTakeover(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		for _, blind := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", blind: ", blind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var store session.Store = memory.New()
					if blind {
						store = clockless{store.(*memory.Store)}
					}
					a := session.New(store, &session.Options{Holder: session.Holder{ID: "a", Host: "ma", PID: 1}})
					b := session.New(store, &session.Options{
						Holder: session.Holder{ID: "b", Host: "mb", PID: 1}, Clock: func() time.Time { return time.Now().Add(skew) },
					})
					l := must(a.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
					for range 3 {
						_, err := b.Open(t.Context(), "s", nil)
						wantErr(t, err, session.ErrBusy)
						time.Sleep(20 * time.Second)
					}
					if _, err := l.Append(t.Context(), userDraft("a", "a")); err != nil {
						t.Errorf("the living holder: %v", err)
					}
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// clockless is a store that cannot tell how long a lease remains, such as a bucket.
type clockless struct{ *memory.Store }

func (c clockless) Acquire(ctx context.Context, id string, l session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	got, err := c.Store.Acquire(ctx, id, l, func(held session.Lease) bool { return steal(held.Stored()) })
	if busy, ok := errors.AsType[*session.BusyError](err); ok {
		busy.Lease.Remaining = nil
	}
	return got, err
}

func (c clockless) Held(ctx context.Context, id string) (*session.Lease, error) {
	l, err := c.Store.Held(ctx, id)
	if l != nil {
		l.Remaining = nil
	}
	return l, err
}

// If the store has no clock, a process that wants a session watches for the whole TTL whether
// the holder renews its lease.
func TestDeadHolderByPID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := clockless{memory.New()}
		far := session.Lease{Holder: session.Holder{ID: "far"}, TTL: time.Minute, Expires: time.Now().Add(-time.Hour)}
		if _, err := store.Acquire(t.Context(), "s", far, nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		l := must(session.New(store, nil).Create(t.Context(), session.Opened{SessionID: "s"}))(t)
		if took := time.Since(began); took < time.Minute || took > 70*time.Second {
			t.Errorf("taken after %v", took)
		}
		l.Close()
		if _, err := store.Acquire(t.Context(), "t", far, nil); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		_, err := session.New(store, nil).Create(ctx, session.Opened{SessionID: "t"})
		wantErr(t, err, session.ErrBusy) // whoever has no time for that is told who has it
	})
}

func TestHolderHasEnded(t *testing.T) {
	me := session.ThisProcess()
	if me.Boot == "" {
		t.Skip("without /proc a process's end cannot be told; run this on Linux")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := me
	child.ID, child.PID = "child", cmd.Process.Pid
	probe := child
	probe.Started = 1 // that process started at another time: the number was given out again
	if !probe.HasEnded(me) {
		t.Error("a process id that was given out again passes for the old process")
	}
	if me.HasEnded(me) {
		t.Error("this process is gone")
	}
	for name, change := range map[string]func(*session.Holder){
		"another boot":      func(h *session.Holder) { h.Boot = "other" },
		"another namespace": func(h *session.Holder) { h.PIDNS = "other" },
		"no pid":            func(h *session.Holder) { h.PID = 0 },
		"no start time":     func(h *session.Holder) { h.Started = 0 },
		"no boot":           func(h *session.Holder) { h.Boot = "" },
	} {
		h := probe
		change(&h)
		if h.HasEnded(me) {
			t.Errorf("%s: the end of the process cannot be told, but was", name)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	child.Started = 1
	if !child.HasEnded(me) {
		t.Error("a process that has ended is not gone")
	}
}

func TestLeaseOfDeadProcessIsTaken(t *testing.T) {
	me := session.ThisProcess()
	if me.Boot == "" {
		t.Skip("without /proc a process's end cannot be told; run this on Linux")
	}
	store := memory.New()
	dead := me
	dead.ID, dead.Started = "dead", me.Started-1
	expires := time.Now().Add(time.Hour)
	if _, err := store.Acquire(t.Context(), "s", session.Lease{Holder: dead, Expires: expires}, nil); err != nil {
		t.Fatal(err)
	}
	l := must(session.New(store, nil).Create(t.Context(), session.Opened{SessionID: "s"}))(t)
	l.Close()
}

// A holder with the same id is another log of this process.
func TestAcquireOwnLease(t *testing.T) {
	store := memory.New()
	s := session.New(store, &session.Options{Holder: session.Holder{ID: "me", PID: 1}})
	newSession(t, s, "s")
	_, err := s.Open(t.Context(), "s", nil)
	wantErr(t, err, session.ErrBusy)
}

func TestHeld(t *testing.T) {
	store := memory.New()
	mine := session.New(store, &session.Options{TTL: time.Minute, Holder: session.Holder{ID: "mine", PID: 7}})
	other := session.New(store, nil)
	held := func() *session.Lease {
		t.Helper()
		l, err := other.Lease(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := held(); l != nil {
		t.Errorf("nobody holds it: %+v", l)
	}
	log, err := mine.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if l := held(); l == nil || l.Holder.PID != 7 || l.Epoch != log.Lease().Epoch {
		t.Errorf("mine: %+v", l)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if l := held(); l != nil {
		t.Errorf("it was released: %+v", l)
	}
	if _, err := other.Lease(t.Context(), "../x"); !errors.Is(err, session.ErrInvalidID) {
		t.Error(err)
	}
	if l, err := session.New(struct{ session.Store }{store}, nil).Lease(t.Context(), "s"); l != nil || err != nil {
		t.Errorf("a store without leases: %+v, %v", l, err)
	}
}

// A process that has ended holds no lease, whatever is stored.
func TestLeaseOfEndedHolder(t *testing.T) {
	me := session.ThisProcess()
	if me.Boot == "" {
		t.Skip("who has ended is known on Linux only")
	}
	store := memory.New()
	gone := me
	gone.ID, gone.Started = "gone", me.Started+1
	now := time.Now()
	if _, err := store.Acquire(t.Context(), "s", session.Lease{Holder: gone, Since: now, Expires: now.Add(time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	if l, err := session.New(store, nil).Lease(t.Context(), "s"); l != nil || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// A takeover includes the sessions that the session's calls started: the former program can no
// longer write to them. Other sessions stay unchanged.
func TestTakeoverChildren(t *testing.T) {
	for name, takeover := range map[string]bool{"taken over": true, "expired": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &deafLeases{Store: memory.New()}
				s := session.New(store, &session.Options{TTL: time.Minute})
				begin := func(o session.Opened) *session.Log {
					l := must(s.Create(t.Context(), o))(t)
					t.Cleanup(func() { l.Close() })
					return l
				}
				begin(session.Opened{SessionID: "lead"})
				other := begin(session.Opened{SessionID: "other"})
				child := begin(session.Opened{SessionID: "child", Owner: "lead", Caller: "lead", Use: "c1"})
				done := begin(session.Opened{SessionID: "done", Owner: "lead", Caller: "lead", Use: "c2"})
				cousin := begin(session.Opened{SessionID: "cousin", Owner: "lead", Caller: "other", Use: "c1"})
				if err := done.Close(); err != nil {
					t.Fatal(err)
				}
				if !takeover {
					store.away.Store(true)
					time.Sleep(time.Minute)
				}
				again := session.New(store.Store, nil)
				r := must(again.Restore(t.Context(), session.RestoreOptions{SessionID: "lead", Takeover: takeover}))(t)
				_, err := child.Append(t.Context(), userDraft("late", "late"))
				wantErr(t, err, session.ErrFenced)
				for _, l := range []*session.Log{other, cousin} {
					if _, err := l.Append(t.Context(), userDraft("more", "more")); err != nil {
						t.Errorf("%s: %v", l.ID(), err)
					}
				}
				if len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "child") {
					t.Errorf("told %q", r.Notices)
				}
				must(again.Open(t.Context(), "child", nil))(t).Close()
				if err := r.Log.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
