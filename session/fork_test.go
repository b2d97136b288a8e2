package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestForkAtEveryItem(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a", "b", "c", "d")
	all := []string{"a", "b", "c", "d"}
	for i, id := range all {
		byIndex := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemIndex: new(i)}))(t)
		byID := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: id}))(t)
		first := must(s.Fork(t.Context(), "s", &session.ForkOptions{First: new(i + 1)}))(t)
		for _, f := range []string{byIndex, byID, first} {
			wantIDs(t, loaded(t, s, f), all[:i+1]...)
			if m := must(s.Get(t.Context(), f))(t); m.MessageCount != i+1 || m.Parent != "s" {
				t.Fatalf("%+v", m)
			}
		}
	}
	if _, err := l.Append(t.Context(), userDraft("e", "e")); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b", "c", "d", "e")
}

func TestForkIsIndependent(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a", "b")
	id := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f", Title: "other", User: "ann"}))(t)
	f := must(s.Open(t.Context(), id, nil))(t)
	defer f.Close()
	for _, d := range []struct {
		l  *session.Log
		id string
	}{{l, "c"}, {f, "x"}, {l, "d"}, {f, "y"}} {
		if _, err := d.l.Append(t.Context(), userDraft(d.id, d.id)); err != nil {
			t.Fatal(err)
		}
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b", "c", "d")
	wantIDs(t, loaded(t, s, "f"), "a", "b", "x", "y")
	for r, err := range s.Records(t.Context(), id, session.Range{After: 3, Limit: 1}) {
		var o session.Opened
		if err := errors.Join(err, json.Unmarshal(r.Payload, &o)); err != nil || o.User != "ann" {
			t.Errorf("on behalf of %q, %v", o.User, err)
		}
	}
	st := must(f.Snapshot(t.Context()))(t)
	if st.SessionID != "f" || st.Head != 7 {
		t.Fatalf("%+v", st)
	}
	m := f.Meta()
	if m.Title != "other" || m.Summary != "Forked from session s" || m.ParentSeq != 3 || m.FirstPrompt != "text of a" {
		t.Fatalf("%+v", m)
	}
	// Forks of forks, also at items that the first parent holds.
	for i, want := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "x"}, {"a", "b", "x", "y"}} {
		g := must(s.Fork(t.Context(), "f", &session.ForkOptions{ItemIndex: new(i)}))(t)
		wantIDs(t, loaded(t, s, g), want...)
		h := must(s.Fork(t.Context(), g, nil))(t)
		wantIDs(t, loaded(t, s, h), want...)
		if r := must(s.Verify(t.Context(), h))(t); !r.OK() {
			t.Fatalf("%+v", r)
		}
	}
}

func TestForkAfterRewrites(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a", "b", "c")
	rewrite := func(w session.Rewrite) {
		t.Helper()
		w.Reason = "mutator"
		if err := l.Rewrite(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	add := func(id string) {
		t.Helper()
		if _, err := l.Append(t.Context(), userDraft(id, id)); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(session.Rewrite{TruncateAfter: "b"})
	add("d")
	check := func(want ...string) {
		t.Helper()
		wantIDs(t, loaded(t, s, "s"), want...)
		for i := range want {
			for _, o := range []session.ForkOptions{{ItemIndex: new(i)}, {ItemID: want[i]}} {
				f := must(s.Fork(t.Context(), "s", &o))(t)
				wantIDs(t, loaded(t, s, f), want[:i+1]...)
				r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: f, MustExist: true}))(t)
				wantIDs(t, itemIDs(r.State.Items), want[:i+1]...)
				if m := r.Log.Meta(); m.MessageCount != i+1 {
					t.Fatalf("MessageCount %d, want %d", m.MessageCount, i+1)
				}
				r.Log.Close()
				if v := must(s.Verify(t.Context(), f))(t); !v.OK() {
					t.Fatalf("%+v", v)
				}
			}
		}
	}
	check("a", "b", "d")
	_, err := s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: "c"})
	wantErr(t, err, session.ErrInvalid) // it was cut
	rewrite(session.Rewrite{Items: []rawJSON{item("v"), item("w"), item("x")}})
	check("v", "w", "x")
	add("y")
	check("v", "w", "x", "y")
	rewrite(session.Rewrite{TruncateAfter: "w"}) // into the middle of the rewrite
	add("z")
	check("v", "w", "z")
}

func TestForkErrors(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "item-1", "item-2", "other")
	newSession(t, s, "empty")
	for _, c := range []struct {
		name string
		src  string
		o    session.ForkOptions
		want error
		text string
	}{
		{"missing", "none", session.ForkOptions{}, session.ErrNotFound, "no such session"},
		{"onto itself", "s", session.ForkOptions{ID: "s"}, session.ErrExists, "exists"},
		{"bad id", "s", session.ForkOptions{ID: "../x"}, session.ErrInvalidID, "invalid"},
		{"bad source", "../s", session.ForkOptions{}, session.ErrInvalidID, "invalid"},
		{"negative", "s", session.ForkOptions{ItemIndex: new(-1)}, session.ErrInvalid, "upToMessageIndex -1 is negative"},
		{"beyond", "s", session.ForkOptions{ItemIndex: new(3)}, session.ErrInvalid, "upToMessageIndex 3 out of range (0..<3)"},
		{"of nothing", "empty", session.ForkOptions{ItemIndex: new(0)}, session.ErrInvalid, "out of range"},
		{"the first none", "s", session.ForkOptions{First: new(0)}, session.ErrInvalid, "the first 0 of 3 items"},
		{"the first too many", "s", session.ForkOptions{First: new(4)}, session.ErrInvalid, "the first 4 of 3 items"},
		{"two fork points", "s", session.ForkOptions{First: new(2), ItemIndex: new(1)}, session.ErrInvalid, "more than one fork point"},
		{"unknown item", "s", session.ForkOptions{ItemID: "item-3"}, session.ErrInvalid, "no item has the id item-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Fork(t.Context(), c.src, &c.o)
			wantErr(t, err, c.want)
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q does not say %q", err, c.text)
			}
			if session.Hint(err) == "" {
				t.Error("no hint")
			}
		})
	}
	_, err := s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: "item-3"})
	if h := session.Hint(err); h != "nearest: item-2, item-1" {
		t.Errorf("hint %q", h)
	}
	if p := must(s.List(t.Context(), session.Query{}))(t); len(p.Sessions) != 2 {
		t.Errorf("a refused fork left something behind: %d sessions", len(p.Sessions))
	}
}

func TestForksOutliveTheirParents(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "a", "b", "c").Close()
	f := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f", ItemID: "b"}))(t)
	g := must(s.Fork(t.Context(), f, &session.ForkOptions{ID: "g", ItemID: "a"}))(t)
	for _, id := range []string{"s", "f"} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		_, err := s.Load(t.Context(), id, nil)
		wantErr(t, err, session.ErrNotFound)
		wantErr(t, s.Delete(t.Context(), id), session.ErrNotFound)
		_, err = s.Open(t.Context(), id, nil)
		wantErr(t, err, session.ErrNotFound)
		_, err = s.Create(t.Context(), session.Opened{SessionID: id})
		wantErr(t, err, session.ErrExists)
	}
	wantIDs(t, loaded(t, s, g), "a")
	if r := must(s.Verify(t.Context(), g))(t); !r.OK() || r.Records != 4 {
		t.Fatalf("%+v", r)
	}
	if err := s.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	newSession(t, s, "s", "again") // everything is gone, so the id is free
}

func TestForksAtOnce(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "a", "b", "c", "d", "e")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			id, err := s.Fork(t.Context(), "s", &session.ForkOptions{ID: fmt.Sprint("f", i)})
			if err != nil {
				t.Error(err)
				return
			}
			if l, err := s.Load(t.Context(), id, nil); err != nil || len(l.Items) != 5 {
				t.Error(l, err)
			}
		})
	}
	wg.Wait()
	wantIDs(t, loaded(t, s, "s"), "a", "b", "c", "d", "e")
}

func TestParentCycle(t *testing.T) {
	store := memory.New()
	s := session.New(store, nil)
	newSession(t, s, "s", "a").Close()
	f := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f"}))(t)
	m := must(s.Get(t.Context(), "s"))(t)
	m.Parent, m.ParentSeq = "f", 5
	if err := store.PutMeta(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load(t.Context(), f, nil)
	if err == nil {
		l := must(s.Open(t.Context(), f, nil))(t)
		_, err = l.Snapshot(t.Context())
		l.Close()
	}
	wantErr(t, err, session.ErrCorrupt)
}

// A fork can be resumed after its parent was deleted, even if the parent was interrupted during a
// tool call.
func TestForkOfDeletedRepaired(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	asks := transcript.Item{ID: "b", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "c1", Name: "T", Input: []byte("{}")}}}.MustEncode()
	started := must(session.NewDraft(record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "T"}))(t)
	must(l.Append(t.Context(), session.ItemDraft(asks, false, nil), started))(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fork := must(s.Fork(t.Context(), "s", nil))(t)
	if err := s.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: fork}))(t)
	if n := len(r.State.Items); n != 3 {
		t.Errorf("%d items", n)
	}
	if err := r.Log.Close(); err != nil {
		t.Error(err)
	}
}
