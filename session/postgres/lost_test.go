package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// endOthers ends the connections of every store of this test's schema.
const endOthers = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND application_name = $1`

// Connections end while several clients append: each append is stored once, acknowledged at
// once or when it is retried.
func TestLostConnections(t *testing.T) {
	at := target(t)
	name := "lost-" + t.Name()
	s := open(t, with(t, at, "application_name", name))
	const sessions, appends = 4, 60
	authors := make([]*author, sessions)
	for i := range authors {
		authors[i] = create(t, s, fmt.Sprintf("s%d", i))
	}
	acked := make(chan bool, sessions*appends)
	var wg, killer sync.WaitGroup
	ended := 0
	killer.Go(func() {
		c := dial(t, at)
		defer c.Close(ctx)
		n := 0
		for range acked {
			if n++; n%7 != 0 {
				continue
			}
			var hit int
			if err := c.QueryRow(ctx, endOthers, name).Scan(&hit); err != nil {
				t.Error(err)
			}
			ended += hit
		}
	})
	errs := make([]error, sessions)
	for i, a := range authors {
		wg.Go(func() {
			for range appends {
				if errs[i] = a.append(a.item("x"), a.item("y")); errs[i] != nil {
					return
				}
				acked <- true
			}
		})
	}
	wg.Wait()
	close(acked)
	killer.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, a := range authors {
		if n := count(t, s, a.id); n != 1+2*appends {
			t.Errorf("%s has %d records, want %d", a.id, n, 1+2*appends)
		}
	}
	t.Logf("%d connections ended", ended)
	if ended == 0 {
		t.Error("no connection was ended")
	}
}

// A lease whose acquisition was interrupted is acquired again by the same holder, without
// calling steal.
func TestLostConnectionDuringAcquire(t *testing.T) {
	at := target(t)
	name := "lease-" + t.Name()
	s := open(t, with(t, at, "application_name", name))
	c := dial(t, at)
	defer c.Close(ctx)
	last := int64(0)
	for i := range 20 {
		id := fmt.Sprintf("s%d", i)
		var killer sync.WaitGroup
		killer.Go(func() {
			for range i { // at another moment each time
				_, _ = c.Exec(ctx, "SELECT 1")
			}
			_, _ = c.Exec(ctx, endOthers, name)
		})
		l, err := s.Acquire(ctx, id, session.Lease{Holder: session.Holder{ID: id}}, func(session.Lease) bool { return false })
		if err != nil {
			t.Errorf("%s: %v", id, err)
		} else if l.Epoch <= last {
			t.Errorf("epoch %d after %d", l.Epoch, last)
		}
		last = l.Epoch
		killer.Wait()
	}
}

// A watcher receives the appends of another store although its connection ends.
func TestWatchOutlivesItsConnection(t *testing.T) {
	at := target(t)
	name := "watch-" + t.Name()
	s, other := open(t, with(t, at, "application_name", name)), open(t, at)
	a := create(t, other, "s")
	const n = 20
	heads := make(chan int64, n+1)
	errs := make(chan error, 1)
	go func() {
		for head, err := range s.Watch(ctx, "s", 1) {
			if err != nil {
				errs <- err
				return
			}
			heads <- head
			if head == n+1 {
				errs <- nil
				return
			}
		}
	}()
	for i := range n {
		if i%5 == 2 {
			value(t, at, endOthers, name)
		}
		if err := a.append(a.item("x")); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			for head := range heads {
				if head == a.head {
					break
				}
			}
		}
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
}
