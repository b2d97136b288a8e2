package session_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// attic is a store whose clock the test turns.
type attic struct {
	*testing.T
	now      time.Time
	sessions *session.Sessions
}

func newAttic(t *testing.T) *attic {
	a := &attic{T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a.sessions = session.New(memory.New(), &session.Options{Clock: func() time.Time { return a.now }})
	return a
}

func (a *attic) make(o session.Opened) *session.Log {
	a.Helper()
	l, err := a.sessions.Create(a.Context(), o)
	if err != nil {
		a.Fatal(err)
	}
	return l
}

func (a *attic) old(o session.Opened) {
	a.Helper()
	if err := a.make(o).Close(); err != nil {
		a.Fatal(err)
	}
}

func (a *attic) listed(trash string) []string {
	a.Helper()
	p, err := a.sessions.List(a.Context(), session.Query{Worktrees: true, Trash: trash})
	if err != nil {
		a.Fatal(err)
	}
	var ids []string
	for _, m := range p.Sessions {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// prune prunes, and tells by id why what was found old stays, or "" for what went.
func (a *attic) prune(o session.PruneOptions) map[string]string {
	a.Helper()
	list, err := a.sessions.Prunable(a.Context(), o)
	if err != nil {
		a.Fatal(err)
	}
	out := map[string]string{}
	for i := range list {
		if err := a.sessions.Prune(a.Context(), &list[i], o); err != nil {
			a.Fatal(err)
		}
		out[list[i].Meta.ID] = list[i].Kept
	}
	return out
}

func TestPrune(t *testing.T) {
	a := newAttic(t)
	a.old(session.Opened{SessionID: "plain", Project: "p"})
	a.old(session.Opened{SessionID: "tagged", Tag: "keep"})
	a.old(session.Opened{SessionID: "run"})
	a.old(session.Opened{SessionID: "run.x", Owner: "run"})
	a.old(session.Opened{SessionID: "orphan", Owner: "gone"})
	a.old(session.Opened{SessionID: "wt-1"})
	held := a.make(session.Opened{SessionID: "held"})
	a.now = a.now.Add(10 * time.Second)
	old := session.PruneOptions{Before: a.now, KeepTagged: true}
	a.old(session.Opened{SessionID: "new"})

	if got := a.prune(session.PruneOptions{Before: a.now, Project: "p", Tag: "x"}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	got := a.prune(old)
	if len(got) != 6 || got["held"] == "" || got["tagged"] == "" || got["plain"] != "" || got["run"] != "" {
		t.Errorf("%v", got)
	}
	if want := []string{"orphan", "plain", "run", "run.x", "wt-1"}; !slices.Equal(a.listed(session.TrashOnly), want) {
		t.Errorf("trash: %v", a.listed(session.TrashOnly))
	}
	if want := []string{"held", "new", "tagged"}; !slices.Equal(a.listed(""), want) {
		t.Errorf("listed: %v", a.listed(""))
	}
	if len(a.listed(session.TrashToo)) != 8 {
		t.Errorf("all: %v", a.listed(session.TrashToo))
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}

	// What is in the trash is not gone on with, and comes back as it was.
	if _, err := a.sessions.Open(t.Context(), "plain", nil); !errors.Is(err, session.ErrTrashed) || session.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := a.sessions.Find(t.Context(), "pla"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%v", err)
	}
	m, err := a.sessions.FindTrashed(t.Context(), "pla")
	if err != nil || m.ID != "plain" {
		t.Errorf("%v %v", m.ID, err)
	}
	if _, err := a.sessions.FindTrashed(t.Context(), "new"); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := a.sessions.Untrash(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"held", "new", "run", "run.x", "tagged"}; !slices.Equal(a.listed(""), want) {
		t.Errorf("listed: %v", a.listed(""))
	}

	// The trash is emptied of what has been there for long.
	empty := session.PruneOptions{Before: a.now, Empty: true}
	if got := a.prune(empty); len(got) != 0 {
		t.Errorf("emptied too early: %v", got)
	}
	a.now = a.now.Add(time.Hour)
	empty.Before = a.now
	if got := a.prune(empty); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := a.listed(session.TrashOnly); len(got) != 0 {
		t.Errorf("trash: %v", got)
	}
}

// Somebody opens a session between the look and the deed.
func TestPruneOpenedMeanwhile(t *testing.T) {
	a := newAttic(t)
	a.old(session.Opened{SessionID: "s"})
	o := session.PruneOptions{Before: a.now.Add(time.Hour)}
	list, err := a.sessions.Prunable(t.Context(), o)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	l, err := a.sessions.Open(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.sessions.Prune(t.Context(), &list[0], o); err != nil || list[0].Kept == "" {
		t.Errorf("%+v %v", list[0], err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := a.listed(""); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Between the look and the deed a session is gone on with, or comes out of the trash.
func TestPruneChangedMeanwhile(t *testing.T) {
	a := newAttic(t)
	a.old(session.Opened{SessionID: "s"})
	find := func(o session.PruneOptions) *session.Pruned {
		t.Helper()
		list, err := a.sessions.Prunable(t.Context(), o)
		if err != nil || len(list) != 1 || list[0].Kept != "" {
			t.Fatal(list, err)
		}
		return &list[0]
	}
	stays := func(p *session.Pruned, o session.PruneOptions) {
		t.Helper()
		if err := a.sessions.Prune(t.Context(), p, o); err != nil || p.Kept == "" {
			t.Errorf("%+v %v", p, err)
		}
		if got := a.listed(""); len(got) != 1 {
			t.Errorf("%v", got)
		}
	}
	a.now = a.now.Add(time.Hour)
	o := session.PruneOptions{Before: a.now}
	p := find(o)
	a.now = a.now.Add(time.Second)
	if err := a.sessions.Rename(t.Context(), "s", "needed"); err != nil {
		t.Fatal(err)
	}
	stays(p, o)

	if err := a.sessions.Trash(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	a.now = a.now.Add(time.Hour)
	o = session.PruneOptions{Before: a.now, Empty: true}
	p = find(o)
	if err := a.sessions.Untrash(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	stays(p, o)
}

// An old run stays, all of it, while one that works for it is at work, waits or is young.
func TestPruneFamily(t *testing.T) {
	a := newAttic(t)
	for _, id := range []string{"busy", "asks", "young"} {
		a.old(session.Opened{SessionID: id})
	}
	l := a.make(session.Opened{SessionID: "busy.x", Owner: "busy"})
	defer l.Close()
	asks := a.make(session.Opened{SessionID: "asks.x", Owner: "asks"})
	d, err := session.NewDraft(record.KindApprovalAsked, map[string]any{"id": "q"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := asks.Append(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := asks.Close(); err != nil {
		t.Fatal(err)
	}
	a.now = a.now.Add(10 * time.Second) // a lease is longer
	before := a.now
	a.old(session.Opened{SessionID: "young.x", Owner: "young"})
	got := a.prune(session.PruneOptions{Before: before})
	if len(got) != 3 || got["busy"] == "" || got["asks"] == "" || got["young"] == "" {
		t.Errorf("%v", got)
	}
	if got := a.listed(session.TrashOnly); len(got) != 0 {
		t.Errorf("trash: %v", got)
	}
}

// holed is a store that cannot read one record.
type holed struct {
	*memory.Store
	hole int64
}

func (h *holed) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
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
	damaged := session.New(&holed{Store: store, hole: 3}, nil)
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
	cut, err := session.NewDraft(record.KindRewrite, session.Rewrite{Reason: "truncate", Cut: "2", Messages: 2})
	if err != nil {
		t.Fatal(err)
	}
	later, err := session.NewDraft(record.KindRewrite, session.Rewrite{Reason: "truncate", Cut: "3", Messages: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, userDraft("1", "a"), userDraft("2", "b"), cut, userDraft("3", "c"), userDraft("4", "d"), later, userDraft("5", "e")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := session.New(&holed{Store: store, hole: 3}, nil)
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

// Who works for one who works for a session goes where that one goes.
func TestFamiliesHaveSeveralGenerations(t *testing.T) {
	a := newAttic(t)
	for _, o := range []session.Opened{
		{SessionID: "top"}, {SessionID: "child", Owner: "top"}, {SessionID: "grandchild", Owner: "child"}, {SessionID: "other"},
	} {
		a.old(o)
	}
	is := func(what string, want ...string) {
		t.Helper()
		if got := a.listed(""); !slices.Equal(got, want) {
			t.Errorf("%s: there are %v, want %v", what, got, want)
		}
	}
	if err := a.sessions.Trash(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	is("in the trash", "other")
	if err := a.sessions.Untrash(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	is("taken out", "child", "grandchild", "other", "top")
	if err := a.sessions.DeleteFamily(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	is("deleted", "other")
}
