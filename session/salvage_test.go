package session_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// damagedStore is a store that cannot read one record.
type damagedStore struct {
	*memory.Store
	hole int64
}

func (h *damagedStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for rec, err := range h.Store.Read(ctx, id, r) {
			if err == nil && id == "s" && rec.Seq == h.hole {
				rec, err = session.Record{}, &session.Error{Op: "read", Session: id, Seq: h.hole, Err: session.ErrCorrupt}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestSalvage(t *testing.T) {
	store := memory.New()
	ctx := context.Background()
	sessions := session.New(store, nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s", Title: "mine", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, userDraft("1", "a"), userDraft("2", "b"), userDraft("3", "c"), userDraft("4", "d"), userDraft("5", "e")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := session.New(&damagedStore{Store: store, hole: 3}, nil)
	savedAs, kept, lost, err := damaged.Salvage(ctx, "s", "t")
	if err != nil || lost != 1 || kept != 5 || savedAs != "t" {
		t.Fatalf("%s: %d kept, %d lost, %v", savedAs, kept, lost, err)
	}
	m, err := sessions.Get(ctx, "t")
	if err != nil || m.Title != "mine" || m.CWD != "/w" || m.MessageCount != 4 {
		t.Errorf("%+v %v", m, err)
	}
	if r, err := sessions.Verify(ctx, "t"); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
	if _, _, _, err := damaged.Salvage(ctx, "s", "t"); !errors.Is(err, session.ErrExists) {
		t.Errorf("%v", err)
	}
}

// What refers to a record that is lost does not make the rest unreadable.
func TestSalvageLoads(t *testing.T) {
	store := memory.New()
	ctx := t.Context()
	sessions := session.New(store, nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := session.NewDraft(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "2", Messages: 2})
	if err != nil {
		t.Fatal(err)
	}
	later, err := session.NewDraft(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "3", Messages: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, userDraft("1", "a"), userDraft("2", "b"), cut, userDraft("3", "c"), userDraft("4", "d"), later, userDraft("5", "e")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := session.New(&damagedStore{Store: store, hole: 3}, nil)
	if _, _, lost, err := damaged.Salvage(ctx, "s", "t"); err != nil || lost != 2 {
		t.Fatalf("%d lost, %v", lost, err)
	}
	got, err := sessions.Load(ctx, "t", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range got.Items {
		ids = append(ids, e.ID())
	}
	if !slices.Equal(ids, []string{"1", "3", "5"}) || got.Meta.MessageCount != 3 {
		t.Errorf("%v, %d counted", ids, got.Meta.MessageCount)
	}
	if r, err := sessions.Verify(ctx, "t"); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
	r, err := sessions.Restore(ctx, session.RestoreOptions{SessionID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Log.Close(); err != nil {
		t.Error(err)
	}
}
