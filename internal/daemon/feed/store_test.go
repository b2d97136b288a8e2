package feed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// slowStore blocks reads, once it is slow, until it is released.
type slowStore struct {
	*memory.Store
	slow atomic.Bool
	open chan struct{}
}

func (s *slowStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if s.slow.Load() {
		<-s.open
	}
	return s.Store.Read(ctx, id, r)
}

// failingStore fails reads according to fail.
type failingStore struct {
	*memory.Store
	fail atomic.Pointer[func(id string, seq int64) error]
}

func (s *failingStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		fail := s.fail.Load()
		for rec, err := range s.Store.Read(ctx, id, r) {
			if err == nil && fail != nil {
				if err = (*fail)(id, rec.Seq); err != nil {
					rec = session.Record{}
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (s *failingStore) set(fail func(id string, seq int64) error) { s.fail.Store(&fail) }

func TestAppendByOtherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		s := h.subscribe(0)
		h.expect(s, "1 caught_up@1")
		other := session.New(h.store, nil)
		for _, name := range []string{"a", "b", "c"} {
			if err := other.Rename(t.Context(), "s", name); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		h.expect(s, "2 3 4")
		if d := time.Since(began); d > 250*time.Millisecond {
			t.Errorf("that took %v", d)
		}
		h.publish("behind")
		h.add(h.log, item(1))
		h.expect(s, "behind@4 5")
	})
}

func TestDeleted(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("recreated ", again), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, nil)
				s := h.subscribe(0)
				h.expect(s, "1 caught_up@1")
				h.log.Close()
				if err := h.sessions.Delete(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
				if again {
					time.Sleep(time.Millisecond) // for a different creation time
					h.add(h.create("s"), item(1), item(2))
				}
				for range 2 {
					if _, err := s.Next(t.Context()); !errors.Is(err, session.ErrNotFound) {
						t.Fatalf("next after the deletion: %v", err)
					}
				}
				switch of, err := h.hub.Subscribe(t.Context(), "s", 0); {
				case again && err == nil:
					h.expect(of, "1 2 3 caught_up@3")
					of.Close()
				case again || !errors.Is(err, session.ErrNotFound):
					t.Errorf("subscribe again: %v", err)
				}
			})
		})
	}
}

func TestDamage(t *testing.T) {
	store := &failingStore{Store: memory.New()}
	h := openOn(t, store, nil)
	damage := func(seqs ...int64) {
		store.set(func(_ string, seq int64) error {
			if slices.Contains(seqs, seq) {
				return &session.Error{Op: "read", Seq: seq, Err: session.ErrCorrupt}
			}
			return nil
		})
	}
	live := h.subscribe(0)
	h.expect(live, "1 caught_up@1")
	damage(3, 5)
	h.add(h.log, item(1), item(1), item(1), item(1))
	h.add(h.log, item(1))
	for name, s := range map[string]*Subscription{"live": live, "replay": h.subscribe(1)} {
		var got []string
		for len(got) < 5 {
			e, err := s.Next(t.Context())
			switch {
			case errors.Is(err, session.ErrCorrupt):
				got = append(got, "damaged")
			case err != nil:
				t.Fatal(err)
			case e.Kind == Durable:
				got = append(got, fmt.Sprint(e.Seq))
			}
		}
		if got := strings.Join(got, " "); got != "2 damaged 4 damaged 6" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// An unreadable log is reported once, also if the error has no seq.
func TestUnreadableLog(t *testing.T) {
	store := &failingStore{Store: memory.New()}
	h := openOn(t, store, nil)
	h.add(h.log, item(1), item(1))
	store.set(func(string, int64) error { return &session.Error{Op: "read", Err: session.ErrCorrupt} })
	s := h.subscribe(0)
	if _, err := s.Next(t.Context()); !errors.Is(err, session.ErrCorrupt) {
		t.Fatal(err)
	}
	h.expect(s, "caught_up@3")
}

func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failingStore{Store: memory.New()}
		h := openOn(t, store, nil)
		s := h.subscribe(0)
		h.expect(s, "1 caught_up@1")
		broken := errors.New("the disk is away")
		store.set(func(string, int64) error { return broken })
		h.add(h.log, item(1), item(1))
		began := time.Now()
		if _, err := s.Next(t.Context()); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if d := time.Since(began); d < time.Second || d > 10*time.Second {
			t.Errorf("the error was reported after %v", d)
		}
		if _, err := h.subscribe(0).Next(t.Context()); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		store.set(func(string, int64) error { return nil })
		h.expect(s, "2 3")
	})
}

type failingObserver struct{ err error }

func (r *failingObserver) Appended(context.Context, string, session.Record) error { return r.err }
func (r *failingObserver) Deleted(context.Context, string) error                  { return r.err }

func TestObserverError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &failingObserver{}
		h := &hubEnv{TB: t, hub: New(nil), store: memory.New()}
		defer h.hub.Close()
		h.sessions = session.New(h.store, &session.Options{AppendObserver: h.hub.WrapObserver(inner)})
		h.hub.Serve(h.sessions)
		h.log = h.create("s")
		s := h.subscribe(0)
		h.expect(s, "1 caught_up@1")
		inner.err = errors.New("no")
		if _, err := h.log.Append(t.Context(), item(1)); !errors.Is(err, inner.err) {
			t.Fatal(err)
		}
		h.expectNothing(s)
		if err := h.sessions.Delete(t.Context(), "s"); err == nil {
			t.Error("deleted although the observer failed")
		}
		inner.err = nil
		h.add(h.log, item(1))
		h.expect(s, "2")
		h.log.Close()
		if err := h.sessions.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	})
}
