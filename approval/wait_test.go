package approval_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// counted is a store that counts the reads of a log.
type counted struct {
	*memory.Store
	reads atomic.Int64
}

func (c *counted) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	c.reads.Add(1)
	return c.Store.Read(ctx, id, r)
}

// TestWait runs in a synctest bubble, so it does not really wait.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New()}
		s := session.New(store, nil)
		l := newLog(t, s, "s")
		q := put(t, l, newRequest("q", "ls"))
		go func() {
			time.Sleep(10*time.Second + time.Millisecond)
			if err := s.Rename(context.Background(), "s", "something else happens"); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Second)
			if _, err := approval.Resolve(context.Background(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann"}); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		got := must(approval.Wait(t.Context(), s, "s", q))(t)
		if got.Actor != "ann" || got.Decision != approval.Allow {
			t.Errorf("%+v", got)
		}
		if took := time.Since(began); took != 30*time.Second+time.Millisecond { // at once
			t.Errorf("it took %s", took)
		}
		// One read at the start, one by Resolve, and one for each of the two notifications.
		if n := store.reads.Load(); n != 4 {
			t.Errorf("the log was read %d times", n)
		}
		// A later Wait gets the same answer at once.
		again := must(approval.Wait(t.Context(), s, "s", q))(t)
		if d := cmp.Diff(got, again); d != "" || time.Since(began) > 31*time.Second {
			t.Error(d)
		}
	})
}

func TestWaitExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		q := newRequest("q", "ls")
		expires := time.Now().Add(5 * time.Minute).UTC()
		q.Expires = &expires
		q = put(t, newLog(t, s, "s"), q)
		got := must(approval.Wait(t.Context(), s, "s", q))(t)
		if got.Decision != approval.Deny || got.Actor != "timeout" || got.Message == "" || !got.At.Equal(expires) {
			t.Errorf("%+v", got)
		}
		if d := cmp.Diff([]approval.Answer{got}, answers(t, s, "s")); d != "" {
			t.Error(d)
		}
		if left := must(approval.Pending(t.Context(), s, ""))(t); len(left) != 0 {
			t.Errorf("%v", ids(left))
		}
	})
}

// Several clients wait for the same request until it expires; one of them records the denial.
func TestConcurrentWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		q := newRequest("q", "ls")
		expires := time.Now().Add(time.Minute).UTC()
		q.Expires = &expires
		q = put(t, newLog(t, s, "s"), q)
		got := make(chan approval.Answer, 8)
		for range cap(got) {
			go func() {
				a, err := approval.Wait(context.Background(), s, "s", q)
				if err != nil {
					t.Error(err)
				}
				got <- a
			}()
		}
		for range cap(got) {
			if a := <-got; a.Actor != "timeout" {
				t.Errorf("%+v", a)
			}
		}
		if n := len(answers(t, s, "s")); n != 1 {
			t.Errorf("%d answers", n)
		}
	})
}

// An answer just before the expiry wins over the timeout.
func TestWaitAnswerBeforeExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		q := newRequest("q", "ls")
		expires := time.Now().Add(time.Minute).UTC()
		q.Expires = &expires
		q = put(t, newLog(t, s, "s"), q)
		go func() {
			time.Sleep(time.Minute - time.Millisecond)
			if _, err := approval.Resolve(context.Background(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann"}); err != nil {
				t.Error(err)
			}
		}()
		if got := must(approval.Wait(t.Context(), s, "s", q))(t); got.Actor != "ann" {
			t.Errorf("%+v", got)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		l := newLog(t, s, "s")
		q := put(t, l, newRequest("q", "ls"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := approval.Wait(ctx, s, "s", q)
		wantErr(t, err, context.DeadlineExceeded)
		if left := must(approval.Pending(t.Context(), s, ""))(t); len(left) != 1 {
			t.Error("a canceled Wait has answered")
		}
		_, err = approval.Wait(t.Context(), s, "none", q)
		wantErr(t, err, session.ErrNotFound)
		q.ID = "r"
		_, err = approval.Wait(t.Context(), s, "s", q)
		wantErr(t, err, approval.ErrNoRequest)

		q.ID = "q"
		go func() {
			time.Sleep(time.Second)
			l.Close()
			if err := s.Delete(context.Background(), "s"); err != nil {
				t.Error(err)
			}
		}()
		_, err = approval.Wait(t.Context(), s, "s", q)
		wantErr(t, err, session.ErrNotFound)
	})
}

// plainStore is a store without notifications.
type plainStore struct {
	session.Store
	session.Leaser
}

// A Wait sees an answer that the same sessions append at once, in any store: it is woken and does
// not wait for the next poll.
func TestWaitWakesInAnyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		s := session.New(plainStore{store, store}, nil)
		q := put(t, newLog(t, s, "s"), newRequest("q", "ls"))
		go func() {
			time.Sleep(10*time.Second + time.Millisecond)
			if _, err := approval.Resolve(context.Background(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann"}); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		must(approval.Wait(t.Context(), s, "s", q))(t)
		if took := time.Since(began); took != 10*time.Second+time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}
