package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

func scratch(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.write(context.Background(), "test", "", func(c *conn) error {
		_, err := c.exec("CREATE TABLE t (n INTEGER PRIMARY KEY CHECK (n < 100))")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func put(n int64) func(*conn) error {
	return func(c *conn) error {
		_, err := c.exec("INSERT INTO t VALUES (?)", n)
		return err
	}
}

func sum(t *testing.T, s *Store) (n int64) {
	t.Helper()
	if err := s.read(context.Background(), "test", "", func(c *conn) error {
		r, err := c.row("SELECT coalesce(sum(n), 0) FROM t")
		if err == nil {
			n = asInt(r[0])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// held starts a job that keeps the transaction open until the result is called.
func held(s *Store) (release func()) {
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = s.writer.do(context.Background(), func(*conn) error {
			close(began)
			<-end
			return nil
		})
	}()
	<-began
	return func() { close(end); <-done }
}

func TestWaitingJobsShareATransaction(t *testing.T) {
	s := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		release := held(s)
		refusal := errors.New("refused")
		errs := make([]error, 6)
		done := make(chan struct{})
		for i, run := range []func(*conn) error{
			put(1), func(*conn) error { return refusal }, put(2), put(100), put(4), put(4),
		} {
			go func() {
				errs[i] = s.writer.do(context.Background(), run)
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		release()
		for range errs {
			<-done
		}
		// The failed ones made the others' transaction fail; each then had its own.
		for i, want := range []bool{true, false, true, false, true, false} {
			if (errs[i] == nil) != want {
				t.Errorf("job %d: %v", i, errs[i])
			}
		}
		if !errors.Is(errs[1], refusal) {
			t.Errorf("the refusal became %v", errs[1])
		}
	})
	if got := sum(t, s); got != 7 {
		t.Errorf("sum %d, want 7", got)
	}
}

func TestCancelledJobLeavesTheQueue(t *testing.T) {
	s := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		release := held(s)
		ctx, cancel := context.WithCancel(context.Background())
		errs := make(chan error, 2)
		go func() { errs <- s.writer.do(ctx, put(1)) }()
		synctest.Wait()
		go func() { errs <- s.writer.do(context.Background(), put(2)) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := s.writer.do(ctx, put(8)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		release()
		if err := <-errs; err != nil {
			t.Error(err)
		}
	})
	if got := sum(t, s); got != 2 {
		t.Errorf("sum %d, want 2", got)
	}
}

func TestCloseWaitsForTheQueue(t *testing.T) {
	s := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		release := held(s)
		errs := make(chan error, 3)
		go func() { errs <- s.writer.do(context.Background(), put(1)) }()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		if err := s.writer.do(context.Background(), put(2)); !errors.Is(err, session.ErrClosed) {
			t.Errorf("after Close began: %v", err)
		}
		release()
		if err := <-errs; err != nil {
			t.Errorf("before Close began: %v", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	s2, err := Open(s.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	if got := sum(t, s2); got != 1 {
		t.Errorf("sum %d, want 1", got)
	}
}

func TestPoisonStays(t *testing.T) {
	s := scratch(t)
	bad := &session.Error{Err: session.ErrPoisoned, Hint: "reopen"}
	fatal := s.writer.fatal
	s.writer.fatal = func(error) error { return bad }
	ctx := context.Background()
	for range 2 {
		err := s.write(ctx, "append", "a", put(100))
		if e, ok := errors.AsType[*session.Error](err); !ok || !errors.Is(err, session.ErrPoisoned) || e.Op != "append" || e.Session != "a" || e.Hint == "" {
			t.Errorf("%v", err)
		}
		s.writer.fatal = fatal
	}
	if err := s.write(ctx, "append", "a", put(1)); !errors.Is(err, session.ErrPoisoned) {
		t.Errorf("a good job on a poisoned store: %v", err)
	}
	if got := sum(t, s); got != 0 {
		t.Errorf("sum %d, want 0", got)
	}
	s.Close()
	again, err := Open(s.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.write(ctx, "append", "a", put(1)); err != nil {
		t.Errorf("after reopening: %v", err)
	}
}

// Ninety writers with cancellations of all kinds: every job ran once or not at all.
func TestWriterCancelled(t *testing.T) {
	s := scratch(t)
	const n = 90
	type result struct {
		n   int64
		err error
	}
	results := make(chan result)
	for i := range int64(n) {
		go func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%3 == 0 {
				go cancel()
			}
			results <- result{i, s.writer.do(ctx, put(i))}
		}()
	}
	want := int64(0)
	for range n {
		switch r := <-results; {
		case r.err == nil:
			want += r.n
		case r.n%3 != 0 || !errors.Is(r.err, context.Canceled):
			t.Errorf("job %d: %v", r.n, r.err)
		}
	}
	if got := sum(t, s); got != want {
		t.Errorf("sum %d, want %d", got, want)
	}
}

// The release of a lease does not wait for the disk, and what follows does.
func TestReleaseIsNotSynced(t *testing.T) {
	s := scratch(t)
	mode := func() int64 {
		n, err := s.writer.conn.pragma("synchronous")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx := t.Context()
	for range 2 {
		lease, err := s.Acquire(ctx, "a", session.Lease{Expires: time.Now().Add(time.Hour)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if mode() != 2 {
			t.Error("taking a lease is not synced")
		}
		if err := s.Release(ctx, "a", lease); err != nil {
			t.Fatal(err)
		}
		if mode() != 1 {
			t.Error("the release waited for the disk")
		}
	}
}

// A connection that many sessions are written by keeps more of them in its cache.
func TestCacheForManyWriters(t *testing.T) {
	s := scratch(t)
	n := int64(0)
	group := func(size int) (cache int64) {
		jobs := make([]*job, size)
		for i := range jobs {
			n++
			jobs[i] = &job{run: put(n)}
		}
		if err := s.writer.commit(jobs); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if j.err != nil {
				t.Error(j.err)
			}
		}
		cache, err := s.writer.conn.pragma("cache_size")
		if err != nil {
			t.Fatal(err)
		}
		return cache
	}
	for _, c := range []struct {
		jobs int
		want int64
	}{{1, -512}, {manyJobs - 1, -512}, {manyJobs, -4096}, {1, -4096}} {
		if got := group(c.jobs); got != c.want {
			t.Errorf("after %d at once: %d, want %d", c.jobs, got, c.want)
		}
	}
	if got := sum(t, s); got != n*(n+1)/2 {
		t.Errorf("a sum of %d, want %d", got, n*(n+1)/2)
	}
}
