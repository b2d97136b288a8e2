package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// machine performs random operations on sessions and keeps the expected transcript of each as
// a list of item ids.
type machine struct {
	s        *session.Sessions
	observer *recordingObserver
	model    map[string][]string     // live sessions
	gone     map[string]bool         // deleted ones
	open     map[string]*session.Log // kept open between steps
	next     int
}

func (m *machine) live(t *rapid.T) string {
	if len(m.model) == 0 {
		t.Skip("no session yet")
	}
	return rapid.SampledFrom(slices.Sorted(keys(m.model))).Draw(t, "session")
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (m *machine) name(prefix string) string {
	m.next++
	return fmt.Sprint(prefix, m.next)
}

// log opens a session or goes on with the log that is open.
func (m *machine) log(t *rapid.T, id string) *session.Log {
	if l := m.open[id]; l != nil {
		return l
	}
	l, err := m.s.Open(ctx, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.open[id] = l
	return l
}

func (m *machine) close(t *rapid.T, id string) {
	if l := m.open[id]; l != nil {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		delete(m.open, id)
	}
}

func (m *machine) Create(t *rapid.T) {
	id := m.name("s")
	l, err := m.s.Create(ctx, session.Opened{SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	m.open[id], m.model[id] = l, nil
}

func (m *machine) Append(t *rapid.T) {
	id := m.live(t)
	var drafts []session.Draft
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		it := m.name("i")
		drafts = append(drafts, userDraft(it, it))
		m.model[id] = append(slices.Clip(m.model[id]), it)
	}
	if _, err := m.log(t, id).Append(ctx, drafts...); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Rename(t *rapid.T) {
	id := m.live(t)
	if err := m.s.Rename(ctx, id, m.name("title ")); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Cut(t *rapid.T) {
	id := m.live(t)
	if len(m.model[id]) == 0 {
		t.Skip("nothing to cut")
	}
	at := rapid.IntRange(0, len(m.model[id])-1).Draw(t, "at")
	if err := m.log(t, id).Rewrite(ctx, session.Rewrite{Reason: "truncate", TruncateAfter: m.model[id][at]}); err != nil {
		t.Fatal(err)
	}
	m.model[id] = m.model[id][: at+1 : at+1]
}

func (m *machine) Rewrite(t *rapid.T) {
	id := m.live(t)
	w := session.Rewrite{Reason: "compaction"}
	var list []string
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		it := m.name("r")
		list = append(list, it)
		w.Items = append(w.Items, item(it))
	}
	if err := m.log(t, id).Rewrite(ctx, w); err != nil {
		t.Fatal(err)
	}
	m.model[id] = list
}

func (m *machine) Fork(t *rapid.T) {
	id := m.live(t)
	o := session.ForkOptions{ID: m.name("f")}
	list := m.model[id]
	if len(list) > 0 && rapid.Bool().Draw(t, "partly") {
		at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
		if o.ItemIndex = &at; rapid.Bool().Draw(t, "by id") {
			o.ItemID, o.ItemIndex = list[at], nil
		}
		list = list[:at+1]
	}
	if _, err := m.s.Fork(ctx, id, &o); err != nil {
		t.Fatal(err)
	}
	m.model[o.ID] = slices.Clone(list)
}

func (m *machine) Delete(t *rapid.T) {
	id := m.live(t)
	m.close(t, id)
	if err := m.s.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	delete(m.model, id)
	m.gone[id] = true
}

// Restart is a process that ended without closing anything, and the next one.
func (m *machine) Restart(t *rapid.T) {
	for id, l := range m.open {
		taken, err := m.s.Open(ctx, id, &session.OpenOptions{Takeover: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(ctx, userDraft("x", "from the dead")); !errors.Is(err, session.ErrFenced) {
			t.Fatalf("a process that lost its lease appended: %v", err)
		}
		if err := errors.Join(l.Close(), taken.Close()); err != nil {
			t.Fatal(err)
		}
	}
	clear(m.open)
}

// UnobservedAppend is an append whose observer fails, and its retry.
func (m *machine) UnobservedAppend(t *rapid.T) {
	id := m.live(t)
	l := m.log(t, id)
	it := m.name("i")
	blind := errors.New("blind")
	m.observer.fail(blind, 1)
	if _, err := l.Append(ctx, userDraft(it, it)); !errors.Is(err, blind) {
		t.Fatal(err)
	}
	if _, err := l.Append(ctx, userDraft(it, it)); err != nil {
		t.Fatal(err)
	}
	m.model[id] = append(slices.Clip(m.model[id]), it)
}

func (m *machine) Check(t *rapid.T) {
	page, err := m.s.List(ctx, session.Query{})
	if err != nil || len(page.Sessions) != len(m.model) {
		t.Fatalf("%d sessions listed, want %d (%v)", len(page.Sessions), len(m.model), err)
	}
	for id, want := range m.model {
		got, err := m.s.Load(ctx, id, nil)
		if err != nil || len(got.Notices) > 0 {
			t.Fatal(err, got)
		}
		if ids := itemIDs(got.Items); !slices.Equal(ids, want) || got.Meta.MessageCount != len(want) {
			t.Fatalf("%s holds %v (%d), want %v", id, ids, got.Meta.MessageCount, want)
		}
		tail, err := m.s.Load(ctx, id, &session.LoadOptions{Limit: 2})
		if err != nil || !slices.Equal(itemIDs(tail.Items), want[max(len(want)-2, 0):]) {
			t.Fatalf("the tail of %s is %v, want the end of %v (%v)", id, itemIDs(tail.Items), want, err)
		}
		st, err := session.Replay(ctx, m.s.Records(ctx, id, session.Range{}))
		if err != nil || !slices.Equal(itemIDs(st.Items), want) || st.Head != got.Meta.Head {
			t.Fatalf("replaying %s: %v", id, err)
		}
		if seen := m.observer.heads[id]; seen.Seq != got.Meta.Head || seen.Digest != got.Meta.HeadDigest {
			t.Fatalf("%s ends at %d, observed at %d", id, got.Meta.Head, seen.Seq)
		}
		r, err := m.s.Verify(ctx, id)
		if err != nil || !r.OK() {
			t.Fatalf("%s: %+v %v", id, r, err)
		}
	}
	for id := range m.gone {
		if _, err := m.s.Get(ctx, id); !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("%s is deleted, and: %v", id, err)
		}
	}
}

func TestSessionsMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runMachine(t, memory.New()) })
}

func runMachine(t *rapid.T, store session.Store) {
	w := &recordingObserver{store: store}
	m := &machine{s: session.New(store, &session.Options{AppendObserver: w}), observer: w, model: map[string][]string{}, gone: map[string]bool{}, open: map[string]*session.Log{}}
	defer func() {
		for _, l := range m.open {
			l.Close()
		}
	}()
	t.Repeat(map[string]func(*rapid.T){
		"create": m.Create, "append": m.Append, "append more": m.Append, "rename": m.Rename, "cut": m.Cut, "rewrite": m.Rewrite,
		"fork": m.Fork, "delete": m.Delete, "restart": m.Restart, "unseen": m.UnobservedAppend, "": m.Check,
	})
}
