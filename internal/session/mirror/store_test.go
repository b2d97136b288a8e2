package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// mirrored makes a mirror and, at the end, closes it and compares the two.
func mirrored(t testing.TB, primary, secondary session.Store) *mirror.Store {
	t.Helper()
	m, err := mirror.New(primary, secondary, &mirror.Options{CloseTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = m.Close()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		switch err := m.Flush(ctx); {
		case err == nil:
			same(t, primary, secondary)
		case errors.Is(err, session.ErrClosed): // a test of the kit has closed it
		case errors.Is(err, session.ErrExists): // ids that differ in case only
		default:
			t.Errorf("flush: %v", err)
		}
		_ = m.Close()
	})
	return m
}

// same compares the sessions of two stores.
func same(t testing.TB, a, b session.Store) {
	t.Helper()
	ctx := context.Background()
	q := session.Query{Worktrees: true, WithTrash: true}
	here, err := a.List(ctx, q)
	if errors.Is(err, session.ErrClosed) {
		return
	}
	there, err2 := b.List(ctx, q)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if len(here.Sessions) != len(there.Sessions) {
		t.Errorf("%d sessions here, %d there", len(here.Sessions), len(there.Sessions))
		return
	}
	for _, m := range here.Sessions {
		x, y := read(t, a, m.ID), read(t, b, m.ID)
		if x != y {
			t.Errorf("session %s differs:\n%s\n%s", m.ID, x, y)
		}
	}
}

func read(t testing.TB, s session.Store, id string) string {
	t.Helper()
	var b strings.Builder
	for r, err := range s.Read(context.Background(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s\n", r.Seq, r.Digest)
	}
	return b.String()
}

func TestStore(t *testing.T) {
	t.Run("memory to memory", func(t *testing.T) {
		sessiontest.Run(t, func(t testing.TB) session.Store { return mirrored(t, memory.New(), memory.New()) },
			sessiontest.Capabilities{Reopen: func(_ testing.TB, s session.Store) session.Store { return s }})
	})
	t.Run("sqlite to file", func(t *testing.T) {
		sessiontest.Run(t, func(t testing.TB) session.Store {
			return mirrored(t, openSQLite(t), openFile(t))
		}, sessiontest.Capabilities{})
	})
}

func openSQLite(t testing.TB) session.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openFile(t testing.TB) session.Store {
	t.Helper()
	s, err := file.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes a session, or goes on with it.
func write(t testing.TB, s session.Store, id string, texts ...string) {
	t.Helper()
	ss := session.New(s, nil)
	l, err := ss.Open(t.Context(), id, nil)
	if errors.Is(err, session.ErrNotFound) {
		l, err = ss.Create(t.Context(), session.Opened{SessionID: id})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		it := transcript.UserText(text)
		it.ID = ss.NewID()
		if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// away is a store that cannot be reached at times.
type away struct {
	session.Store
	down  atomic.Bool
	tries atomic.Int64
}

var errAway = errors.New("connection refused")

func (a *away) Unwrap() session.Store { return a.Store }

func (a *away) List(ctx context.Context, q session.Query) (session.Page, error) {
	if a.down.Load() {
		a.tries.Add(1)
		return session.Page{}, errAway
	}
	return a.Store.List(ctx, q)
}

func (a *away) Append(ctx context.Context, id string, b session.Batch) error {
	if a.down.Load() {
		a.tries.Add(1)
		return errAway
	}
	return a.Store.Append(ctx, id, b)
}

func TestSecondaryUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		primary, second := memory.New(), &away{Store: memory.New()}
		second.down.Store(true)
		m, err := mirror.New(primary, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, m, "a", "one") // the primary alone decides
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if st := m.Status(); st.Pending != 1 || !errors.Is(st.Err, errAway) || time.Since(st.Failing) < 9*time.Minute {
			t.Fatalf("status while it is away: %+v", st)
		}
		if n := second.tries.Load(); n > 40 {
			t.Errorf("%d attempts in ten minutes", n)
		}
		write(t, m, "b", "two")
		second.down.Store(false)
		time.Sleep(31 * time.Second) // the longest pause
		synctest.Wait()
		if st := m.Status(); st.Pending != 0 || st.Err != nil || !st.Failing.IsZero() || st.Copied != 4 {
			t.Fatalf("status after it is back: %+v", st)
		}
		same(t, primary, second)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNextOpenCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		primary, second := memory.New(), &away{Store: memory.New()}
		second.down.Store(true)
		m, err := mirror.New(primary, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, m, "a", "one")
		if err := m.Close(); err == nil || session.Hint(err) == "" || !errors.Is(err, errAway) {
			t.Fatalf("close with something left: %v", err)
		}
		write(t, primary, "b", "past the mirror")
		second.down.Store(false)
		m, err = mirror.New(primary, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, primary, second)
		write(t, primary, "b", "past it again")
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		same(t, primary, second)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOneSessionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		primary, second := memory.New(), memory.New()
		write(t, primary, "a", "one")
		write(t, second, "a", "another")
		write(t, second, "orphan", "nobody's")
		m, err := mirror.New(primary, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, m, "b", "well")
		if err := m.Flush(t.Context()); !errors.Is(err, session.ErrConflict) {
			t.Fatalf("flush with logs that have diverged: %v", err)
		}
		if st := m.Status(); st.Pending != 1 || st.Orphans != 1 || !errors.Is(st.Err, session.ErrConflict) {
			t.Fatalf("status: %+v", st)
		}
		if read(t, primary, "b") != read(t, second, "b") {
			t.Error("the other session was not shipped")
		}
		if err := m.Close(); !errors.Is(err, session.ErrConflict) {
			t.Fatalf("close: %v", err)
		}
	})
}

func TestDeletesAndErases(t *testing.T) {
	primary, second := memory.New(), memory.New()
	m := mirrored(t, primary, second)
	ss := session.New(m, nil)
	write(t, m, "a", "one", "a secret")
	write(t, m, "b", "one")
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ss.Redact(t.Context(), "a", session.RedactOptions{Seqs: []int64{3}}); err != nil {
		t.Fatal(err)
	}
	if err := ss.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	write(t, m, "b", "made anew")
	if _, err := ss.Fork(t.Context(), "a", &session.ForkOptions{ID: "fork"}); err != nil {
		t.Fatal(err)
	}
	if err := ss.Delete(t.Context(), "a"); err != nil { // kept for its fork
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := session.New(second, nil).Verify(t.Context(), "fork")
	if err != nil || len(r.Faults) > 0 || r.Erased != 1 {
		t.Fatalf("the fork in the secondary: %+v %v", r, err)
	}
}

func TestDeleteOrphans(t *testing.T) {
	for _, some := range []bool{true, false} {
		primary, second := memory.New(), memory.New()
		write(t, second, "orphan", "deleted by another program")
		if some {
			write(t, primary, "a", "one")
		}
		m, err := mirror.New(primary, second, &mirror.Options{DeleteOrphans: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := second.List(t.Context(), session.Query{ID: "orphan"})
		if err != nil || (len(p.Sessions) == 0) != some {
			t.Errorf("with sessions in the primary %v: the secondary has %d, %v", some, len(p.Sessions), err)
		}
		_ = m.Close()
	}
}

func TestManyWriters(t *testing.T) {
	primary, second := memory.New(), memory.New()
	m := mirrored(t, primary, second)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				write(t, m, fmt.Sprintf("s%d", w), fmt.Sprint(i))
			}
		})
	}
	wg.Wait()
}

func TestNew(t *testing.T) {
	s := memory.New()
	for _, pair := range [][2]session.Store{{nil, s}, {s, nil}, {s, s}} {
		if _, err := mirror.New(pair[0], pair[1], nil); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("New(%v): %v", pair, err)
		}
	}
}
