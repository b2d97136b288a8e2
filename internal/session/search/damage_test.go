package search_test

import (
	"context"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// damagedStore is a store in which something cannot be read.
type damagedStore struct {
	session.Store
	fault func(id string, r *session.Record) error
}

func (s damagedStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for rec, err := range s.Store.Read(ctx, id, r) {
			if err == nil {
				if err = s.fault(id, &rec); err != nil {
					rec = session.Record{}
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Records after a damaged one are found, and indexing ends.
func TestRecordsAfterDamage(t *testing.T) {
	h := newIndexEnv(t)
	h.say("a first needle", "a lost needle", "a last needle")
	x := open(t, filepath.Join(t.TempDir(), "i.db"), damagedStore{h.store, func(_ string, r *session.Record) error {
		if r.Seq == 3 {
			return &session.Error{Op: "read", Seq: 3, Err: session.ErrCorrupt}
		}
		return nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := x.Index(ctx); err != nil {
		t.Fatal(err)
	}
	if n := h.count(x, "needle"); n != 2 {
		t.Errorf("%d needles, want 2", n)
	}
}

// A damaged record at the end is looked at once.
func TestDamageAtTheEnd(t *testing.T) {
	h := newIndexEnv(t)
	h.say("a needle", "a lost needle")
	read := 0
	x := open(t, filepath.Join(t.TempDir(), "i.db"), damagedStore{h.store, func(_ string, r *session.Record) error {
		if read++; r.Seq == 3 {
			return &session.Error{Op: "read", Seq: 3, Err: session.ErrCorrupt}
		}
		return nil
	}})
	h.index(x)
	if n := h.count(x, "needle"); n != 1 {
		t.Errorf("%d needles, want 1", n)
	}
	read = 0
	if h.index(x); read != 0 {
		t.Errorf("%d records were read again", read)
	}
}

// One session that cannot be read at all does not hide the others.
func TestSkippedFiles(t *testing.T) {
	for _, fault := range []error{session.ErrSealed, session.ErrNotFound} {
		h := newIndexEnv(t)
		h.say("a needle")
		l, err := h.sessions.Create(t.Context(), session.Opened{SessionID: "other"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		x := open(t, filepath.Join(t.TempDir(), "i.db"), damagedStore{h.store, func(id string, _ *session.Record) error {
			if id == "other" {
				return &session.Error{Op: "read", Session: id, Err: fault}
			}
			return nil
		}})
		h.index(x)
		if n := h.count(x, "needle"); n != 1 {
			t.Errorf("%v: %d needles, want 1", fault, n)
		}
	}
}
