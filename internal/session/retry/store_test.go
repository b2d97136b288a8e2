package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/transcript"
)

// broken is a store that is unavailable: every call returns the error of fault, which receives
// the operation, or hangs.
type broken struct {
	*memory.Store
	mu    sync.Mutex
	fault func(op string) error
	late  bool // what fails was done
	calls int
}

var errHangs = errors.New("hangs")

func (b *broken) set(f func(op string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = f
}

func (b *broken) check(ctx context.Context, op string) error {
	b.mu.Lock()
	f := b.fault
	b.calls++
	b.mu.Unlock()
	if f == nil {
		return nil
	}
	err := f(op)
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (b *broken) Append(ctx context.Context, id string, batch session.Batch) error {
	err := b.check(ctx, "append")
	if err != nil && !b.late {
		return err
	}
	return errors.Join(err, b.Store.Append(context.WithoutCancel(ctx), id, batch))
}

func (b *broken) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := b.check(ctx, "list"); err != nil {
		return session.Page{}, err
	}
	return b.Store.List(ctx, q)
}

func (b *broken) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		n := 0
		for rec, err := range b.Store.Read(ctx, id, r) {
			if n++; n > 2 { // it breaks off behind the second record
				if err := b.check(ctx, "read"); err != nil {
					yield(session.Record{}, err)
					return
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (b *broken) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	err := b.check(ctx, "acquire")
	if err != nil && !b.late {
		return session.Lease{}, err
	}
	l, aerr := b.Store.Acquire(ctx, id, h, steal)
	return l, errors.Join(err, aerr)
}

func (b *broken) Renew(ctx context.Context, id string, l session.Lease) error {
	if err := b.check(ctx, "renew"); err != nil {
		return err
	}
	return b.Store.Renew(ctx, id, l)
}

var errAway = &session.Error{Op: "x", Err: session.ErrUnavailable, Detail: "connection refused"}

// item is a record.
func item(text string) session.Draft {
	return session.ItemDraft(transcript.Item{
		ID: text, Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: text}},
	}.MustEncode(),

		false, nil)
}

// newTestLog returns a store that can go away, and a log in it.
func newTestLog(t *testing.T, o *Options) (*broken, *Store, *session.Log) {
	t.Helper()
	b := &broken{Store: memory.New()}
	s := New(b, o)
	l, err := session.New(s, nil).Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return b, s, l
}

// TestContract checks that the wrapper is a store like the one within.
func TestContract(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return New(memory.New(), nil) }, sessiontest.Capabilities{
		Reopen: func(_ testing.TB, s session.Store) session.Store { return s },
	})
}

// An append waits while the store is unavailable, for each kind of outage, and is stored once.
func TestAppendWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		late bool
		o    Options
	}{
		{name: "refused", err: errAway},
		{name: "the answer is lost", err: errAway, late: true},
		{name: "hangs", err: errHangs},
		{name: "hangs, done", err: errHangs, late: true},
		{name: "read-only since it fails over", err: &session.Error{Err: session.ErrReadOnly}},
		{name: "full", err: &session.Error{Err: session.ErrFull}, o: Options{RetryFull: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var told []string
				c.o.Changed = func(err error, after time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, fmt.Sprint(err != nil, after >= 100*time.Second))
				}
				b, s, l := newTestLog(t, &c.o)
				defer l.Close()
				b.late = c.late
				b.set(func(string) error { return c.err })
				time.AfterFunc(120*time.Second, func() { b.set(nil) })
				begun := time.Now()
				recs, err := l.Append(t.Context(), item("a"))
				if err != nil || len(recs) != 1 {
					t.Fatal(recs, err)
				}
				if d := time.Since(begun); d < 120*time.Second || d > 150*time.Second {
					t.Errorf("it took %v", d)
				}
				n := 0
				for _, err := range s.Read(t.Context(), "s", session.Range{}) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
				if n != 2 {
					t.Errorf("%d records", n)
				}
				mu.Lock()
				defer mu.Unlock()
				if fmt.Sprint(told) != "[true false false true]" {
					t.Errorf("it was told %v", told)
				}
			})
		})
	}
}

// A permanent error is not retried, nor is a store that never accepted a write.
func TestPermanentErrorFailsAtOnce(t *testing.T) {
	for _, err := range []error{session.ErrConflict, session.ErrFenced, session.ErrFull, session.ErrPoisoned, session.ErrClosed, io.EOF} {
		b, _, l := newTestLog(t, nil)
		b.set(func(string) error { return err })
		before := b.calls
		if _, got := l.Append(t.Context(), item("a")); !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
		if n := b.calls - before; n != 1 {
			t.Errorf("%v: %d calls", err, n)
		}
		b.set(nil)
	}
	b := &broken{Store: memory.New(), fault: func(op string) error { return map[string]error{"acquire": session.ErrReadOnly}[op] }}
	if _, err := session.New(New(b, nil), nil).Create(t.Context(), session.Opened{SessionID: "s"}); !errors.Is(err, session.ErrReadOnly) {
		t.Error(err)
	}
}

// Every wait ends, with the store's error.
func TestWaitEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		after time.Duration
		want  error
	}{
		{"its time is over", errAway, nil, DefaultTimeout, session.ErrUnavailable},
		{"it hangs and its time is over", errHangs, nil, DefaultTimeout, session.ErrUnavailable},
		{"within", errAway, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return Within(Within(ctx, 2*time.Second), time.Hour), func() {}
		}, 2 * time.Second, session.ErrUnavailable},
		{"once, hanging", errHangs, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return Within(ctx, 0), func() {}
		}, time.Second, session.ErrUnavailable},
		{"deadline", errAway, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 10*time.Second)
		}, 10 * time.Second, session.ErrUnavailable},
		{"cancelled while it hangs", errHangs, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, stop := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, stop)
			return ctx, stop
		}, 3 * time.Second, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s, l := newTestLog(t, nil)
				defer l.Close()
				defer b.set(nil)
				b.set(func(string) error { return c.err })
				ctx := t.Context()
				if c.ctx != nil {
					var stop context.CancelFunc
					ctx, stop = c.ctx(ctx)
					defer stop()
				}
				begun := time.Now()
				_, err := s.List(ctx, session.Query{})
				if !errors.Is(err, c.want) {
					t.Error(err)
				}
				if d := time.Since(begun); d > c.after+shortest || d < c.after*4/5 {
					t.Errorf("it took %v, want %v", d, c.after)
				}
			})
		})
	}
}

// GiveUp ends the waiting.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, l := newTestLog(t, nil)
		defer l.Close()
		defer b.set(nil)
		b.set(func(string) error { return errAway })
		time.AfterFunc(3*time.Second, s.GiveUp)
		begun := time.Now()
		if _, err := l.Append(t.Context(), item("a")); !errors.Is(err, session.ErrUnavailable) {
			t.Error(err)
		}
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// Reading continues after the last record read, in both directions.
func TestReadContinues(t *testing.T) {
	for _, c := range []struct {
		r    session.Range
		want string
	}{
		{session.Range{}, "[1 2 3 4 5 6 7]"},
		{session.Range{After: 2, Limit: 4}, "[3 4 5 6]"},
		{session.Range{After: 1, Until: 6}, "[2 3 4 5 6]"},
		{session.Range{Reverse: true}, "[7 6 5 4 3 2 1]"},
		{session.Range{Reverse: true, After: 1, Until: 6, Limit: 4}, "[6 5 4 3]"},
		{session.Range{Reverse: true, After: 1}, "[7 6 5 4 3 2]"},
	} {
		for _, fails := range []error{errAway, errHangs} {
			synctest.Test(t, func(t *testing.T) {
				b, s, l := newTestLog(t, nil)
				defer l.Close()
				for i := range 6 {
					if _, err := l.Append(t.Context(), item(fmt.Sprint(i))); err != nil {
						t.Fatal(err)
					}
				}
				n := 0
				b.set(func(op string) error {
					if op != "read" {
						return nil
					}
					if n++; n%2 == 1 {
						return fails
					}
					return nil
				})
				var seqs []int64
				for rec, err := range s.Read(t.Context(), "s", c.r) {
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour) // a slow reader is not a slow store
					seqs = append(seqs, rec.Seq)
				}
				if got := fmt.Sprint(seqs); got != c.want {
					t.Errorf("%+v: %s, want %s", c.r, got, c.want)
				}
				b.set(nil)
			})
		}
	}
}

// A lease that was taken by a call whose answer was lost is taken.
func TestAcquireAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broken{Store: memory.New(), late: true}
		n := 0
		b.set(func(op string) error {
			if n++; op == "acquire" && n < 4 {
				return errAway
			}
			return nil
		})
		h := session.Lease{Holder: session.Holder{ID: "h"}, Since: time.Now()}
		if _, err := New(b, nil).Acquire(t.Context(), "s", h, func(session.Lease) bool { return false }); err != nil {
			t.Fatal(err)
		}
		other := session.Lease{Holder: session.Holder{ID: "other"}, Since: time.Now()}
		if _, err := New(b, nil).Acquire(t.Context(), "s", other, func(session.Lease) bool { return false }); !errors.Is(err, session.ErrBusy) {
			t.Errorf("another one: %v", err)
		}
	})
}

// Check tells of writes that fail while reads succeed.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, l := newTestLog(t, &Options{RetryFull: true})
		defer l.Close()
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.set(func(op string) error { return map[string]error{"append": &session.Error{Err: session.ErrFull}}[op] })
		_, err := l.Append(Within(t.Context(), 0), item("a"))
		if !errors.Is(err, session.ErrFull) {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); !errors.Is(err, session.ErrFull) {
			t.Errorf("full: %v", err)
		}
		b.set(func(string) error { return errAway })
		if err := s.Check(t.Context()); !errors.Is(err, session.ErrUnavailable) {
			t.Errorf("away: %v", err)
		}
		b.set(nil)
		if _, err := l.Append(t.Context(), item("a")); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// hanging is a store whose Watch hangs, and tells of nothing, while it is told to.
type hanging struct {
	*memory.Store
	hangs atomic.Bool
}

func (h *hanging) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if h.hangs.Load() {
			<-ctx.Done()
			yield(0, ctx.Err())
			return
		}
		h.Store.Watch(ctx, id, after)(yield)
	}
}

// A watcher of a store whose server disappeared receives later appends when it is back, and
// the end of its own context.
func TestWatchServerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{Store: memory.New()}
		s := New(h, nil)
		l, err := session.New(s, nil).Create(t.Context(), session.Opened{SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, stop := context.WithCancel(t.Context())
		var heads []int64
		var failed error
		done := make(chan struct{})
		h.hangs.Store(true)
		go func() {
			defer close(done)
			for head, err := range s.Watch(ctx, "s", 0) {
				if failed = err; err == nil {
					heads = append(heads, head)
				}
			}
		}()
		time.Sleep(2*time.Minute + time.Second) // within an attempt
		h.hangs.Store(false)
		time.Sleep(defaultAttempt)
		if _, err := l.Append(t.Context(), item("a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		stop()
		<-done
		if fmt.Sprint(heads) != "[1 2]" || !errors.Is(failed, context.Canceled) {
			t.Errorf("heads %v, %v", heads, failed)
		}
	})
}
