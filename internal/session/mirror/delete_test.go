package mirror_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// interferingStore is a store in which something happens right after the first read of a session,
// or right before the first append to one.
type interferingStore struct {
	session.Store
	looked, appends string // of which session
	then            func()

	mu sync.Mutex
}

// happens does what is to happen, if it has not happened yet.
func (m *interferingStore) happens() {
	m.mu.Lock()
	then := m.then
	m.then = nil
	m.mu.Unlock()
	if then != nil {
		then()
	}
}

func (m *interferingStore) Unwrap() session.Store { return m.Store }

func (m *interferingStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	p, err := m.Store.List(ctx, q)
	if q.ID == m.looked && q.ID != "" {
		m.happens()
	}
	return p, err
}

func (m *interferingStore) Append(ctx context.Context, id string, b session.Batch) error {
	if id == m.appends {
		m.happens()
	}
	return m.Store.Append(ctx, id, b)
}

// behind makes a mirror whose secondary is up to date, and which looks at no heads later.
func behind(t *testing.T, primary, secondary session.Store) *mirror.Store {
	t.Helper()
	m, err := mirror.New(primary, secondary, &mirror.Options{Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func remove(t *testing.T, s session.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := session.New(s, nil).Delete(context.Background(), id); err != nil {
			t.Error(err)
		}
	}
}

// What is kept for a fork is removed with the fork, even if that happens while the copy is
// about to be kept for it.
func TestLastForkDeletedMeanwhile(t *testing.T) {
	first, second := memory.New(), memory.New()
	primary := &interferingStore{Store: first}
	m := behind(t, primary, second)
	write(t, m, "s", "one")
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := session.New(first, nil).Fork(t.Context(), "s", &session.ForkOptions{ID: "fork"}); err != nil { // not shipped
		t.Fatal(err)
	}
	primary.looked, primary.then = "s", func() { remove(t, first, "fork") }
	if err := m.Delete(t.Context(), "s"); err != nil { // tells the secondary
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, first, second)
}

// A session is deleted between its lookup and its reading, and a part is kept for a fork: the
// shorter log is not damage.
func TestTruncatedDuringCopy(t *testing.T) {
	first, second := memory.New(), memory.New()
	primary := &interferingStore{Store: first}
	m := behind(t, primary, second)
	write(t, first, "s", "one", "two", "three")
	if _, err := session.New(first, nil).Fork(t.Context(), "s", &session.ForkOptions{ID: "fork", ItemIndex: new(0)}); err != nil {
		t.Fatal(err)
	}
	primary.then = func() { remove(t, first, "s") }
	primary.looked = "s"
	next, err := mirror.New(primary, second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, first, second)
	_ = m.Close()
	_ = next.Close()
}

// Two processes mirror the same two stores. A session that one deletes while the other copies
// it for the first time is in neither store.
func TestOtherProcessDeletes(t *testing.T) {
	for name, appends := range map[string]string{"alone": "parent", "a fork": "s", "a fork's parent": "parent"} {
		t.Run(name, func(t *testing.T) {
			first, second := memory.New(), memory.New()
			other := behind(t, first, second)
			write(t, first, "parent", "one")
			ids := []string{"parent"}
			if name != "alone" {
				ids = []string{"s", "parent"}
				if _, err := session.New(first, nil).Fork(t.Context(), "parent", &session.ForkOptions{ID: "s"}); err != nil {
					t.Fatal(err)
				}
			}
			one := behind(t, first, &interferingStore{Store: second, appends: appends, then: func() {
				remove(t, other, ids...)
				_ = other.Flush(t.Context()) // the copy may be busy
			}})
			if err := errors.Join(one.Flush(t.Context()), other.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			if p, err := second.List(t.Context(), session.Query{Worktrees: true}); err != nil || len(p.Sessions) > 0 {
				t.Errorf("the secondary still has %+v (%v)", p.Sessions, err)
			}
		})
	}
}

// A session that is deleted and recreated while it is copied is copied as the new one; the
// missing first one is not an error.
func TestRecreatedDuringCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := memory.New(), memory.New()
		write(t, first, "s", "the first one")
		primary, later := &interferingStore{Store: first}, &interferingStore{Store: second, appends: "s"}
		var m *mirror.Store
		made, flushed := make(chan struct{}), make(chan error)
		later.then = func() { // it has been read, and is not there yet
			<-made
			if err := m.Delete(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			primary.looked = "s"
		}
		primary.then = func() { // who ships has seen that it is gone
			write(t, m, "s", "the second one")
			go func() { flushed <- m.Flush(t.Context()) }()
			synctest.Wait() // until that waits
		}
		var err error
		m, err = mirror.New(primary, later, nil)
		if err != nil {
			t.Fatal(err)
		}
		close(made)
		if err := <-flushed; err != nil {
			t.Error(err)
		}
		same(t, first, second)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}
