package feed

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// openTwice opens two clients of the same data.
var openTwice = map[string]func(t *testing.T) [2]session.Store{
	"memory": func(*testing.T) [2]session.Store { s := memory.New(); return [2]session.Store{s, s} },
	"sqlite": func(t *testing.T) (two [2]session.Store) {
		path := filepath.Join(t.TempDir(), "sessions.db")
		for i := range two {
			s, err := sqlite.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			two[i] = s
		}
		return two
	},
	"file": func(t *testing.T) (two [2]session.Store) {
		if runtime.GOOS == "windows" {
			t.Skip("the file store needs a Unix system")
		}
		dir := t.TempDir()
		for i := range two {
			s, err := file.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			two[i] = s
		}
		return two
	},
}

// TestStoreNotifications subscribes to appends and deletions of another program while polling is
// too slow to find them.
func TestStoreNotifications(t *testing.T) {
	for name, open := range openTwice {
		t.Run(name, func(t *testing.T) {
			stores := open(t)
			h := openOn(t, stores[0], &Options{Poll: 720 * time.Hour})
			s, later := h.subscribe(0), h.subscribe(FromEnd)
			h.expect(s, "1 caught_up@1")
			h.expect(later, "caught_up@1")
			other := session.New(stores[1], nil)
			for i := range 10 {
				if err := other.Rename(t.Context(), "s", fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
				h.expect(s, fmt.Sprint(2+2*i))
				h.add(h.log, item(1))
				h.expect(s, fmt.Sprint(3+2*i))
				h.expect(later, fmt.Sprintf("%d %d", 2+2*i, 3+2*i))
			}
			h.log.Close()
			if err := other.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(t.Context()); !errors.Is(err, session.ErrNotFound) {
				t.Fatalf("next after the deletion: %v", err)
			}
		})
	}
}

// TestThousandFeeds opens and closes a thousand feeds; no goroutine remains.
func TestThousandFeeds(t *testing.T) {
	for name, open := range openTwice {
		t.Run(name, func(t *testing.T) {
			h := openOn(t, open(t)[0], nil)
			n := 1000
			if testing.Short() || name != "memory" { // the others do not sync in this mode
				n = 100
			}
			first := h.subscribe(0) // the store's notification goroutines stay
			h.expect(first, "1 caught_up@1")
			var ids []string
			for i := range n {
				l, err := h.sessions.Create(t.Context(), session.Opened{SessionID: fmt.Sprint("s", i)})
				if err != nil {
					t.Fatal(err)
				}
				l.Close()
				ids = append(ids, l.ID())
			}
			before := runtime.NumGoroutine()
			var subs []*Subscription
			for _, id := range ids {
				s, err := h.hub.Subscribe(t.Context(), id, FromEnd)
				if err != nil {
					t.Fatal(err)
				}
				subs = append(subs, s)
			}
			for i, id := range ids {
				if err := h.sessions.Rename(t.Context(), id, "title"); err != nil {
					t.Fatal(err)
				}
				h.expect(subs[i], "caught_up@1 2")
			}
			for _, s := range subs {
				s.Close()
			}
			settled(t, before+5) // the store starts its notifications on first use
		})
	}
}

// TestCorpusConcurrency subscribes to a hundred sessions in one hub while all are written.
func TestCorpusConcurrency(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "concurrency"), map[string]func(*testing.T, corpus.Case){
		"xx-010": corpus.Test(`{"given": {"state":"100 sessions, one daemon"}, "when": ["run"], "expect": {"no event of one session in another":true,"goroutines and locks return to the start count":true}}`, func(t *testing.T, _ corpus.Case) {
			for name, open := range openTwice {
				t.Run(name, func(t *testing.T) { hundredSessions(t, openOn(t, open(t)[0], nil)) })
			}
		}),
	}, nil)
}

func hundredSessions(t *testing.T, h *hubEnv) {
	first := h.subscribe(0) // the store's notification goroutines stay
	h.expect(first, "1 caught_up@1")
	before := runtime.NumGoroutine()
	var work sync.WaitGroup
	for i := range 100 {
		id := fmt.Sprint("s", i)
		work.Go(func() {
			l, err := h.sessions.Create(t.Context(), session.Opened{SessionID: id})
			if err != nil {
				t.Error(err)
				return
			}
			s, err := h.hub.Subscribe(t.Context(), id, 0)
			for range 5 {
				if err == nil {
					_, err = l.Append(t.Context(), item(50))
				}
			}
			for seq := int64(0); err == nil && seq < 6; {
				var e *Event
				if e, err = s.Next(t.Context()); err != nil || e.Kind != Durable {
					continue
				}
				if seq++; e.Session != id || e.Records[0].Session != id || e.Seq != seq {
					t.Errorf("%s received record %d of %s", id, e.Seq, e.Records[0].Session)
				}
			}
			if err = errors.Join(err, l.Close()); err != nil {
				t.Error(err)
				return
			}
			s.Close()
			if held, err := h.sessions.Lease(t.Context(), id); held != nil || err != nil {
				t.Errorf("the lease of %s is still held: %v %v", id, held, err)
			}
		})
	}
	work.Wait()
	settled(t, before+5) // the store starts its notifications on first use
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
