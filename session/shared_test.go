package session_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func askDraft(id, use string) session.Draft {
	return session.Draft{Kind: record.KindApprovalAsked, Payload: fmt.Appendf(nil, `{"id":%q,"use_id":%q}`, id, use)}
}

func answerDraft(id, decision string) session.Draft {
	return session.Draft{Kind: record.KindApprovalResolved, Payload: fmt.Appendf(nil, `{"id":%q,"decision":%q}`, id, decision)}
}

func TestAppendSharedRefuses(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	answer := answerDraft("q", "allow")
	for _, c := range []struct {
		name   string
		id     string
		at     int64
		drafts []session.Draft
		want   error
	}{
		{"no such session", "none", 2, []session.Draft{answer}, session.ErrNotFound},
		{"an id that is none", "a/b", 2, []session.Draft{answer}, session.ErrInvalidID},
		{"behind the head", "s", 1, []session.Draft{answer}, session.ErrConflict},
		{"before it", "s", 3, []session.Draft{answer}, session.ErrConflict},
		{"an item", "s", 2, []session.Draft{userDraft("b", "b")}, session.ErrInvalid},
		{"an item among others", "s", 2, []session.Draft{answer, userDraft("b", "b")}, session.ErrInvalid},
		{"a question", "s", 2, []session.Draft{askDraft("q", "u")}, session.ErrInvalid},
		{"an opening", "s", 2, []session.Draft{openedDraft(t, "s")}, session.ErrInvalid},
		{"an unknown kind", "s", 2, []session.Draft{{Kind: "approval.maybe", Payload: []byte(`{}`)}}, session.ErrInvalid},
		{"no JSON object", "s", 2, []session.Draft{{Kind: record.KindApprovalResolved, Payload: []byte(`[]`)}}, session.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			recs, err := s.AppendShared(t.Context(), c.id, c.at, c.drafts...)
			wantErr(t, err, c.want)
			if recs != nil {
				t.Errorf("records %v", recs)
			}
		})
	}
	if l.Head() != 2 || must(s.Get(t.Context(), "s"))(t).Head != 2 {
		t.Error("something was appended")
	}
	if recs, err := s.AppendShared(t.Context(), "s", 1); err != nil || recs != nil {
		t.Errorf("nothing to append: %v %v", recs, err)
	}
}

func TestAppendSharedDuringWrites(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	must(l.Append(t.Context(), askDraft("q", "u")))(t)
	recs := must(s.AppendShared(t.Context(), "s", 3, answerDraft("q", "allow"), draft(t, record.KindPolicyChanged, record.PolicyChanged{Mode: "plan"})))(t)
	if len(recs) != 2 || recs[0].Seq != 4 || recs[1].Seq != 5 || recs[1].Prev != recs[0].Digest {
		t.Fatalf("%+v", recs)
	}
	if m := must(s.Get(t.Context(), "s"))(t); m.OpenApprovals != 0 || m.Head != 5 {
		t.Errorf("%+v", m)
	}
	must(l.Append(t.Context(), userDraft("b", "b")))(t)
	if r := must(s.Verify(t.Context(), "s"))(t); !r.OK() {
		t.Errorf("%+v", r)
	}
}

// Of many that append at the same head one wins each time.
func TestAppendSharedRace(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "a")
	var wg sync.WaitGroup
	const each, writers = 20, 8
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				for {
					m, err := s.Get(t.Context(), "s")
					if err == nil {
						_, err = s.AppendShared(t.Context(), "s", m.Head, answerDraft(fmt.Sprint(w, i), "deny"))
					}
					if err == nil {
						break
					}
					if !errors.Is(err, session.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if m := must(s.Get(t.Context(), "s"))(t); m.Head != 2+each*writers || m.OpenApprovals != -each*writers {
		t.Errorf("%+v", m)
	}
}

func TestTakeInSharedRecords(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	if recs, err := l.Refresh(t.Context()); err != nil || len(recs) != 0 {
		t.Fatalf("nothing is new, and: %v %v", recs, err)
	}
	must(s.AppendShared(t.Context(), "s", 2, answerDraft("q", "allow")))(t)
	if err := s.Rename(t.Context(), "s", "title"); err != nil {
		t.Fatal(err)
	}
	if l.Head() != 2 {
		t.Fatal("the log moved by itself")
	}
	recs := must(l.Refresh(t.Context()))(t)
	if len(recs) != 2 || recs[0].Kind != record.KindApprovalResolved || recs[1].Kind != record.KindMetaChanged || recs[0].Seq != 3 {
		t.Fatalf("%+v", recs)
	}
	if m := l.Meta(); m.Head != 4 || m.Title != "title" || m.OpenApprovals != -1 {
		t.Errorf("%+v", m)
	}
	if recs := must(l.Refresh(t.Context()))(t); len(recs) != 0 {
		t.Errorf("taken in twice: %+v", recs)
	}
	// What was taken in counts as known.
	if recs := must(l.AppendAt(t.Context(), 4, userDraft("b", "b")))(t); recs[0].Seq != 5 {
		t.Errorf("%+v", recs)
	}
	// A record found by an append is returned once by Refresh, in order with later ones.
	must(s.AppendShared(t.Context(), "s", 5, answerDraft("r", "deny")))(t)
	must(l.Append(t.Context(), userDraft("c", "c")))(t)
	must(s.AppendShared(t.Context(), "s", 7, answerDraft("t", "deny")))(t)
	recs = must(l.Refresh(t.Context()))(t)
	if len(recs) != 2 || recs[0].Seq != 6 || recs[1].Seq != 8 || l.Head() != 8 {
		t.Errorf("%+v, head %d", recs, l.Head())
	}
	if recs := must(l.Refresh(t.Context()))(t); len(recs) != 0 {
		t.Errorf("taken in twice: %+v", recs)
	}
}

func TestTakeInFindsAnotherWriter(t *testing.T) {
	s := session.New(memory.New(), nil)
	old := newSession(t, s, "s", "a")
	l := must(s.Open(t.Context(), "s", &session.OpenOptions{Takeover: true}))(t)
	defer l.Close()
	if recs, err := old.Refresh(t.Context()); err != nil || len(recs) != 0 {
		t.Fatalf("nothing was written yet: %v %v", recs, err)
	}
	must(l.Append(t.Context(), userDraft("b", "b")))(t)
	for range 2 { // the second time without asking the store
		_, err := old.Refresh(t.Context())
		wantErr(t, err, session.ErrFenced)
	}
	_, err := old.Append(t.Context(), userDraft("c", "c"))
	wantErr(t, err, session.ErrFenced)
	old.Close()
	_, err = old.Refresh(t.Context())
	wantErr(t, err, session.ErrClosed)
}

// unleased is a store without leases.
type unleased struct{ session.Store }

func TestTakeInWithoutLeases(t *testing.T) {
	store := unleased{memory.New()}
	s := session.New(store, nil)
	l := must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
	must(s.AppendShared(t.Context(), "s", 1, answerDraft("q", "deny")))(t)
	if recs := must(l.Refresh(t.Context()))(t); len(recs) != 1 {
		t.Fatalf("%+v", recs)
	}
	m := must(s.Get(t.Context(), "s"))(t)
	r := session.Record{Seq: m.Head + 1, ID: "x", Time: s.Now(), Kind: session.KindItem, Payload: userDraft("i", "i").Payload}
	r.Seal(m.HeadDigest)
	// The memory store below wants a lease for items: take one behind the log's back.
	lease := must(store.Store.(session.Leaser).Acquire(t.Context(), "s", session.Lease{}, func(session.Lease) bool { return true }))(t)
	delta := must(session.Fold([]session.Record{r}))(t)
	if err := store.Append(t.Context(), "s", session.Batch{Expect: m.Head, Epoch: lease.Epoch, Records: []session.Record{r}, Delta: delta}); err != nil {
		t.Fatal(err)
	}
	_, err := l.Refresh(t.Context())
	wantErr(t, err, session.ErrConflict)
}

// A batch with an unknown outcome that was written is returned like a record of another
// writer, because its writer got an error.
func TestTakeInAfterUnknownAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory.New()}
		s := session.New(store, nil)
		l := newSession(t, s, "s", "a")
		defer l.Close()
		store.after, store.deaf = errLost, true
		_, err := l.Append(t.Context(), userDraft("b", "b"))
		wantErr(t, err, errLost)
		store.deaf = false
		must(s.AppendShared(t.Context(), "s", 3, answerDraft("q", "deny")))(t)
		recs := must(l.Refresh(t.Context()))(t)
		if len(recs) != 2 || recs[0].Seq != 3 || recs[1].Seq != 4 || l.Head() != 4 {
			t.Fatalf("%+v, head %d", recs, l.Head())
		}
		if recs := must(l.Refresh(t.Context()))(t); len(recs) != 0 {
			t.Errorf("handed out twice: %v", recs)
		}
	})
}
