package logwatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// listed is a store that can only be listed.
type listed struct {
	session.Store
	mu    sync.Mutex
	metas map[string]session.Meta
	looks int
}

func (l *listed) List(_ context.Context, q session.Query) (session.Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	if m, ok := l.metas[q.ID]; ok {
		return session.Page{Sessions: []session.Meta{m}}, nil
	}
	return session.Page{}, nil
}

func (l *listed) set(m session.Meta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metas[m.ID] = m
}

// recordingNotifier is a notifier that records its calls.
type recordingNotifier struct {
	mu      sync.Mutex
	entered []string
	left    []string
	ended   bool
}

func (n *recordingNotifier) Run(ctx context.Context, _ *logwatch.Watchers) {
	<-ctx.Done()
	n.ended = true
}

func (n *recordingNotifier) Enter(id string) {
	n.mu.Lock()
	n.entered = append(n.entered, id)
	n.mu.Unlock()
}
func (n *recordingNotifier) Leave(id string) { n.mu.Lock(); n.left = append(n.left, id); n.mu.Unlock() }

// follow collects what a watcher yields until it ends.
func follow(ctx context.Context, b *logwatch.Watchers, id string, after int64) func() ([]int64, error) {
	var got []int64
	var end error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for head, err := range b.Watch(ctx, id, after) {
			if end = err; err == nil {
				got = append(got, head)
			}
		}
	}()
	return func() ([]int64, error) { <-done; return got, end }
}

func TestWatchers(t *testing.T) {
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name string
		do   func(s *listed, b *logwatch.Watchers)
		want []int64
		end  error
	}{
		{"told", func(s *listed, b *logwatch.Watchers) {
			s.set(session.Meta{ID: "s", Head: 4, CreatedAt: born})
			b.Notify("s")
		}, []int64{3, 4}, session.ErrClosed},
		{"seen", func(s *listed, b *logwatch.Watchers) {
			s.set(session.Meta{ID: "s", Head: 5, CreatedAt: born})
			b.Observed("s", 5)
		}, []int64{3, 5}, session.ErrClosed},
		{"told for nothing", func(_ *listed, b *logwatch.Watchers) { b.Notify("s"); b.Notify("t"); b.Observed("t", 1) }, []int64{3}, session.ErrClosed},
		{"gone", func(s *listed, b *logwatch.Watchers) { delete(s.metas, "s"); b.Observed("s", -1) }, []int64{3}, session.ErrNotFound},
		{"kept for forks", func(s *listed, b *logwatch.Watchers) {
			s.set(session.Meta{ID: "s", Head: 3, CreatedAt: born, Deleted: true})
			b.Notify("s")
		}, []int64{3}, session.ErrNotFound},
		{"made anew, longer", func(s *listed, b *logwatch.Watchers) {
			s.set(session.Meta{ID: "s", Head: 9, CreatedAt: born.Add(time.Hour)})
			b.Notify("s")
		}, []int64{3}, session.ErrNotFound},
		{"made anew, shorter", func(s *listed, b *logwatch.Watchers) {
			s.set(session.Meta{ID: "s", Head: 1, CreatedAt: born})
			b.Observed("s", 1)
		}, []int64{3}, session.ErrNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &listed{metas: map[string]session.Meta{"s": {ID: "s", Head: 3, CreatedAt: born}}}
				n := &recordingNotifier{}
				b := logwatch.New(s, func() logwatch.Notifier { return n })
				first, second := follow(t.Context(), b, "s", 0), follow(t.Context(), b, "s", 2)
				synctest.Wait()
				c.do(s, b)
				synctest.Wait()
				b.Close()
				for _, f := range []func() ([]int64, error){first, second} {
					if got, err := f(); !slices.Equal(got, c.want) || !errors.Is(err, c.end) {
						t.Errorf("%v, %v; want %v, %v", got, err, c.want, c.end)
					}
				}
				if !n.ended || !slices.Equal(n.entered, []string{"s"}) || !slices.Equal(n.left, []string{"s"}) || len(b.Watched()) > 0 {
					t.Errorf("%+v, watched %v", n, b.Watched())
				}
				if _, err := follow(t.Context(), b, "s", 0)(); !errors.Is(err, session.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
			})
		})
	}
}

// A second watcher that sees a head first must not keep it from the one that waits.
func TestEveryWatcherIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &listed{metas: map[string]session.Meta{"s": {ID: "s", Head: 1}}}
		b := logwatch.New(s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := follow(ctx, b, "s", 1)
		synctest.Wait()
		s.set(session.Meta{ID: "s", Head: 2})
		second := follow(ctx, b, "s", 0) // sees 2 before anybody was told
		synctest.Wait()
		b.Observed("s", 2) // and now nothing is new
		synctest.Wait()
		before := s.looks
		b.Observed("s", 2)
		synctest.Wait()
		if s.looks != before {
			t.Errorf("%d looks at what is known", s.looks-before)
		}
		cancel()
		for _, f := range []func() ([]int64, error){first, second} {
			if got, err := f(); !slices.Equal(got, []int64{2}) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v %v", got, err)
			}
		}
	})
}
