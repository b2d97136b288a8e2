package sqlite_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

func TestAppendAndRead(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	a.items(9)
	for name, c := range map[string]struct {
		r    session.Range
		want []int64
	}{
		"all":          {session.Range{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"after":        {session.Range{After: 8}, []int64{9, 10}},
		"until":        {session.Range{Until: 2}, []int64{1, 2}},
		"both":         {session.Range{After: 3, Until: 5}, []int64{4, 5}},
		"tail":         {session.Range{Reverse: true, Limit: 3}, []int64{10, 9, 8}},
		"limit":        {session.Range{After: 2, Limit: 2}, []int64{3, 4}},
		"behind":       {session.Range{After: 10}, []int64{}},
		"reverse part": {session.Range{After: 2, Until: 4, Reverse: true}, []int64{4, 3}},
	} {
		if got := seqs(t, s, "a", c.r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	m := meta(t, s, "a")
	if m.Head != 10 || m.HeadDigest != a.last || m.MessageCount != 9 || m.FirstPrompt == "" {
		t.Errorf("meta %+v", m)
	}
}

func TestAppendRefuses(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	stale := *a
	first := a.batch(a.seal(session.KindItem, item("one")))
	if err := s.Append(ctx, "a", first); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, "a", first); err != nil {
		t.Errorf("a retry: %v", err)
	}
	other := stale.batch(stale.seal(session.KindItem, item("two")))
	err := s.Append(ctx, "a", other)
	if e, ok := errors.AsType[*session.Error](err); !ok || !errors.Is(err, session.ErrConflict) || e.Seq != 2 {
		t.Errorf("behind the head: %v", err)
	}
	fenced := *a
	fenced.epoch += 7
	if err := s.Append(ctx, "a", fenced.batch(fenced.seal(session.KindItem, item("x")))); !errors.Is(err, session.ErrFenced) {
		t.Errorf("wrong epoch: %v", err)
	}
	fenced = *a
	fenced.epoch = 0
	if err := s.Append(ctx, "a", fenced.batch(fenced.seal(session.KindItem, item("x")))); !errors.Is(err, session.ErrFenced) {
		t.Errorf("no epoch: %v", err)
	}
	gone := *a
	if err := s.Append(ctx, "b", gone.batch(gone.seal(session.KindItem, item("x")))); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	again := &author{t: t, store: s, id: "a"}
	if err := s.Append(ctx, "a", again.batch(again.seal(record.KindOpened, session.Opened{Format: 1, SessionID: "a", Title: "x"}))); !errors.Is(err, session.ErrExists) {
		t.Errorf("same id: %v", err)
	}
	if got := seqs(t, s, "a", session.Range{}); len(got) != 2 {
		t.Errorf("log is %v", got)
	}
}

// taken are the ways in which a store's file is taken away while it is open.
var taken = map[string]func(path string) error{
	"deleted": os.Remove,
	"moved":   func(path string) error { return os.Rename(path, path+".old") },
	"replaced": func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
	},
	"journal deleted": func(path string) error { return os.Remove(path + "-wal") },
	"journal replaced": func(path string) error {
		return errors.Join(os.Rename(path+"-wal", path+".old"), os.WriteFile(path+"-wal", nil, 0o600))
	},
}

func TestFileRemoved(t *testing.T) {
	for name, take := range taken {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			a := create(t, s, "a")
			a.items(1)
			if err := take(s.Path()); err != nil {
				t.Fatal(err)
			}
			if err := s.Check(ctx); !errors.Is(err, session.ErrPoisoned) {
				t.Errorf("check: %v", err)
			}
			for range 2 {
				err := s.Append(ctx, "a", a.batch(a.seal(session.KindItem, bigItem)))
				if !errors.Is(err, session.ErrPoisoned) || session.Hint(err) == "" {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
}

// A write to a file that was removed meanwhile is not acknowledged.
func TestFileRemovedInTransaction(t *testing.T) {
	for name, take := range taken {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			create(t, s, "a").items(1)
			if _, err := s.Acquire(ctx, "b", session.Lease{}, nil); err != nil {
				t.Fatal(err)
			}
			_, err := s.Acquire(ctx, "b", session.Lease{}, func(session.Lease) bool { // inside the transaction
				return take(s.Path()) == nil
			})
			if !errors.Is(err, session.ErrPoisoned) || session.Hint(err) == "" {
				t.Errorf("%v", err)
			}
		})
	}
}

// A store whose file was replaced reads nothing of the other one.
func TestReadRemovedFile(t *testing.T) {
	other := fresh(t)
	create(t, other, "foreign").items(1)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for name, take := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return os.Rename(other.Path(), path) },
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			create(t, s, "a").items(1)
			if err := take(s.Path()); err != nil {
				t.Fatal(err)
			}
			for _, err := range s.Read(ctx, "a", session.Range{}) { // which has the connection
				if err == nil {
					_, err = s.List(ctx, session.Query{ID: "foreign"})
				}
				if !errors.Is(err, session.ErrPoisoned) {
					t.Errorf("%v", err)
				}
				break
			}
		})
	}
}

func TestLockedByAnotherProcess(t *testing.T) {
	first := fresh(t)
	a := create(t, first, "a")
	s, err := sqlite.Open(first.Path(), &sqlite.Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = first.Acquire(ctx, "b", session.Lease{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = first.Acquire(ctx, "b", session.Lease{}, func(session.Lease) bool { // inside first's transaction
		err := s.Append(ctx, "a", a.batch(a.seal(session.KindItem, bigItem)))
		if !errors.Is(err, session.ErrBusy) || session.Hint(err) == "" {
			t.Errorf("append: %v", err)
		}
		return false
	})
	if _, ok := errors.AsType[*session.BusyError](err); !ok {
		t.Error(err)
	}
	a.head, a.last = 1, a.digest(1)
	a.store = s
	a.items(1) // and goes on when the other is done
}

func TestAppendChecksTheBatch(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	good := func() session.Batch {
		b := *a
		return b.batch(b.seal(session.KindItem, item("x")), b.seal(session.KindItem, item("y")))
	}
	for name, spoil := range map[string]func(*session.Batch){
		"empty":       func(b *session.Batch) { b.Records = nil },
		"gap":         func(b *session.Batch) { b.Records[1].Seq = 9 },
		"expectation": func(b *session.Batch) { b.Expect = 7 },
		"other id":    func(b *session.Batch) { b.Delta.Opened = &session.Opened{SessionID: "b"} },
	} {
		b := good()
		spoil(&b)
		if err := s.Append(ctx, "a", b); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Append(ctx, "a", good()); err != nil {
		t.Error(err)
	}
}

// fill appends n items in large batches.
func fill(a *author, n int) {
	a.t.Helper()
	for n > 0 {
		k := min(n, 500)
		n -= k
		batch := make([]session.Record, k)
		for i := range batch {
			batch[i] = a.seal(session.KindItem, bigItem)
		}
		a.add(batch...)
	}
}
