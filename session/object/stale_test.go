package object_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

// clock makes the server's time go faster.
type clock struct{ ahead atomic.Int64 }

func (c *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		if date, bad := http.ParseTime(resp.Header.Get("Date")); bad == nil {
			resp.Header.Set("Date", date.Add(time.Duration(c.ahead.Load())).UTC().Format(http.TimeFormat))
		}
	}
	return resp, err
}

// A client that read the log before others folded it and removed its slots finds the key of
// the next slot free. What it writes there has no effect.
func TestStaleClientFindsFreeSlots(t *testing.T) {
	url, c := newURL(t), &clock{}
	o := &object.Options{FoldSlots: -1, Transport: c}
	stale, other := open(t, url, o), open(t, url, o)
	a := begin(t, stale, "s", 3)
	was := *a
	for range 5 {
		a.append(t, other, "the other goes on")
	}
	if err := other.Fold("s"); err != nil {
		t.Fatal(err)
	}
	c.ahead.Add(int64(2 * time.Hour))
	if n, err := other.Sweep(ctx); err != nil || n == 0 {
		t.Fatalf("sweep removed %d: %v", n, err)
	}
	keys, err := other.Keys()
	if err != nil {
		t.Fatal(err)
	}
	for key := range keys {
		if strings.HasPrefix(key, "log/") {
			t.Fatalf("%s is left", key)
		}
	}
	err = stale.Append(ctx, "s", was.batch(was.turn("at a place that is free")))
	if e, ok := errors.AsType[*session.Error](err); !errors.Is(err, session.ErrConflict) || !ok || e.Seq != a.head {
		t.Fatalf("append behind the head: %v, want ErrConflict at %d", err, a.head)
	}
	for _, s := range []*object.Store{stale, other, open(t, url, o)} {
		if got := chain(t, s, "s", 1); int64(len(got)) != a.head || got[a.head-1].Digest != a.last {
			t.Fatalf("%d records, want %d", len(got), a.head)
		}
	}
	a.append(t, stale, "and now in the right place")
	a.append(t, other, "and by the other")
	chain(t, open(t, url, o), "s", 1)
}

// The same with a reader, a deleted session, and its successor.
func TestStaleClientOfDeletedSession(t *testing.T) {
	for _, swept := range []bool{false, true} {
		url, c := newURL(t), &clock{}
		o := &object.Options{FoldSlots: -1, Transport: c}
		stale, other := open(t, url, o), open(t, url, o)
		a := begin(t, stale, "s", 3)
		if err := other.Delete(ctx, "s"); err != nil {
			t.Fatal(err)
		}
		if swept {
			c.ahead.Add(int64(2 * time.Hour))
			if _, err := other.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		late := *a
		if err := stale.Append(ctx, "s", late.batch(late.turn("too late"))); !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("swept %v: append to a deleted session: %v", swept, err)
		}
		b := begin(t, other, "s", 1)
		if b.epoch <= a.epoch {
			t.Errorf("epoch %d after %d", b.epoch, a.epoch)
		}
		late = *a
		if err := stale.Append(ctx, "s", late.batch(late.turn("too late"))); !errors.Is(err, session.ErrFenced) {
			t.Fatalf("swept %v: append to a session that was made again: %v", swept, err)
		}
		if n := len(chain(t, stale, "s", 1)); n != 2 {
			t.Fatalf("swept %v: %d records, want 2", swept, n)
		}
	}
}

// An append of the former holder is acknowledged before the takeover or not at all.
func TestTakeoverFencesAtOnce(t *testing.T) {
	url := newURL(t)
	o := &object.Options{FoldSlots: 4}
	first, second := open(t, url, o), open(t, url, o)
	a := begin(t, first, "s", 0)
	for round := range 5 {
		var taken atomic.Bool
		var wg sync.WaitGroup
		started := make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				after := taken.Load()
				was := *a
				err := first.Append(ctx, "s", a.batch(a.turn("x")))
				if i == 2 {
					close(started)
				}
				if err == nil && after {
					t.Errorf("round %d: acknowledged after the takeover", round)
				}
				if err != nil {
					*a = was
					if !errors.Is(err, session.ErrFenced) {
						t.Errorf("round %d: %v", round, err)
					}
					return
				}
			}
		})
		<-started
		l, err := second.Acquire(ctx, "s", lease("second"), always)
		if err != nil {
			t.Fatal(err)
		}
		taken.Store(true)
		wg.Wait()
		if got := chain(t, second, "s", 1); int64(len(got)) != a.head {
			t.Fatalf("round %d: %d records, %d were acknowledged", round, len(got), a.head)
		}
		a.epoch = l.Epoch
		first, second = second, first
	}
}
