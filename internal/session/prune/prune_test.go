package prune_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/prune"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// pruneEnv is a store whose clock the test turns.
type pruneEnv struct {
	*testing.T
	now      time.Time
	sessions *session.Sessions
}

func newPruneEnv(t *testing.T) *pruneEnv {
	a := &pruneEnv{T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	a.sessions = session.New(memory.New(), &session.Options{Clock: func() time.Time { return a.now }})
	return a
}

func (a *pruneEnv) make(o session.Opened) *session.Log {
	a.Helper()
	l, err := a.sessions.Create(a.Context(), o)
	if err != nil {
		a.Fatal(err)
	}
	return l
}

func (a *pruneEnv) old(o session.Opened) {
	a.Helper()
	if err := a.make(o).Close(); err != nil {
		a.Fatal(err)
	}
}

func (a *pruneEnv) listed(q session.Query) []string {
	a.Helper()
	q.Worktrees = true
	p, err := a.sessions.List(a.Context(), q)
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

// prune prunes, and returns by id why an old session was kept, or "" if it was removed.
func (a *pruneEnv) prune(o prune.Options) map[string]string {
	a.Helper()
	list, err := prune.Find(a.Context(), a.sessions, o)
	if err != nil {
		a.Fatal(err)
	}
	out := map[string]string{}
	for i := range list {
		if err := list[i].Remove(a.Context(), a.sessions, o); err != nil {
			a.Fatal(err)
		}
		out[list[i].Meta.ID] = list[i].KeptReason
	}
	return out
}

func TestPrune(t *testing.T) {
	a := newPruneEnv(t)
	a.old(session.Opened{SessionID: "plain", Project: "p"})
	a.old(session.Opened{SessionID: "tagged", Tag: "keep"})
	a.old(session.Opened{SessionID: "run"})
	a.old(session.Opened{SessionID: "run.x", Owner: "run"})
	a.old(session.Opened{SessionID: "orphan", Owner: "gone"})
	a.old(session.Opened{SessionID: "wt-1"})
	held := a.make(session.Opened{SessionID: "held"})
	a.now = a.now.Add(10 * time.Second)
	old := prune.Options{Before: a.now, KeepTagged: true}
	a.old(session.Opened{SessionID: "new"})

	if got := a.prune(prune.Options{Before: a.now, Project: "p", Tag: "x"}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	got := a.prune(old)
	if len(got) != 6 || got["held"] == "" || got["tagged"] == "" || got["plain"] != "" || got["run"] != "" {
		t.Errorf("%v", got)
	}
	if want := []string{"orphan", "plain", "run", "run.x", "wt-1"}; !slices.Equal(a.listed(session.Query{OnlyTrash: true}), want) {
		t.Errorf("trash: %v", a.listed(session.Query{OnlyTrash: true}))
	}
	if want := []string{"held", "new", "tagged"}; !slices.Equal(a.listed(session.Query{}), want) {
		t.Errorf("listed: %v", a.listed(session.Query{}))
	}
	if len(a.listed(session.Query{WithTrash: true})) != 8 {
		t.Errorf("all: %v", a.listed(session.Query{WithTrash: true}))
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
	if want := []string{"held", "new", "run", "run.x", "tagged"}; !slices.Equal(a.listed(session.Query{}), want) {
		t.Errorf("listed: %v", a.listed(session.Query{}))
	}

	// The trash is emptied of what has been there for long.
	empty := prune.Options{Before: a.now, Empty: true}
	if got := a.prune(empty); len(got) != 0 {
		t.Errorf("emptied too early: %v", got)
	}
	a.now = a.now.Add(time.Hour)
	empty.Before = a.now
	if got := a.prune(empty); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := a.listed(session.Query{OnlyTrash: true}); len(got) != 0 {
		t.Errorf("trash: %v", got)
	}
}

// The session is opened between Find and Remove.
func TestPruneOpenedMeanwhile(t *testing.T) {
	a := newPruneEnv(t)
	a.old(session.Opened{SessionID: "s"})
	o := prune.Options{Before: a.now.Add(time.Hour)}
	list, err := prune.Find(t.Context(), a.sessions, o)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	l, err := a.sessions.Open(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := list[0].Remove(t.Context(), a.sessions, o); err != nil || list[0].KeptReason == "" {
		t.Errorf("%+v %v", list[0], err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := a.listed(session.Query{}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Between Find and Remove a session is resumed, or restored from the trash.
func TestPruneChangedMeanwhile(t *testing.T) {
	a := newPruneEnv(t)
	a.old(session.Opened{SessionID: "s"})
	find := func(o prune.Options) *prune.Session {
		t.Helper()
		list, err := prune.Find(t.Context(), a.sessions, o)
		if err != nil || len(list) != 1 || list[0].KeptReason != "" {
			t.Fatal(list, err)
		}
		return &list[0]
	}
	stays := func(p *prune.Session, o prune.Options) {
		t.Helper()
		if err := p.Remove(t.Context(), a.sessions, o); err != nil || p.KeptReason == "" {
			t.Errorf("%+v %v", p, err)
		}
		if got := a.listed(session.Query{}); len(got) != 1 {
			t.Errorf("%v", got)
		}
	}
	a.now = a.now.Add(time.Hour)
	o := prune.Options{Before: a.now}
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
	o = prune.Options{Before: a.now, Empty: true}
	p = find(o)
	if err := a.sessions.Untrash(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	stays(p, o)
}

// An old run stays, all of it, while one that works for it is at work, waits or is young.
func TestPruneFamily(t *testing.T) {
	a := newPruneEnv(t)
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
	got := a.prune(prune.Options{Before: before})
	if len(got) != 3 || got["busy"] == "" || got["asks"] == "" || got["young"] == "" {
		t.Errorf("%v", got)
	}
	if got := a.listed(session.Query{OnlyTrash: true}); len(got) != 0 {
		t.Errorf("trash: %v", got)
	}
}

// A session that works for one that works for a session is removed with that session.
func TestFamilyGenerations(t *testing.T) {
	a := newPruneEnv(t)
	for _, o := range []session.Opened{
		{SessionID: "top"}, {SessionID: "child", Owner: "top"}, {SessionID: "grandchild", Owner: "child"}, {SessionID: "other"},
	} {
		a.old(o)
	}
	is := func(what string, want ...string) {
		t.Helper()
		if got := a.listed(session.Query{}); !slices.Equal(got, want) {
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
