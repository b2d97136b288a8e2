package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// recordingObserver is an observer that records its calls, checks that the appended record is
// stored, and can be made to fail.
type recordingObserver struct {
	store session.Store
	mu    sync.Mutex
	calls []string // "id seq", "id deleted"
	heads map[string]session.Record
	err   error // the next calls' error
	times int   // how many of them; 0 with err: all
}

func (w *recordingObserver) fail(err error, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.times = err, times
}

func (w *recordingObserver) failing() error {
	err := w.err
	if w.times > 0 {
		if w.times--; w.times == 0 {
			w.err = nil
		}
	}
	return err
}

func (w *recordingObserver) Appended(ctx context.Context, id string, head session.Record) error {
	for r, err := range w.store.Read(ctx, id, session.Range{After: head.Seq - 1, Until: head.Seq}) {
		if err != nil || r.Digest != head.Digest {
			return fmt.Errorf("told of record %d, which is not there: %w", head.Seq, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failing(); err != nil {
		return err
	}
	w.calls = append(w.calls, fmt.Sprint(id, " ", head.Seq))
	if w.heads == nil {
		w.heads = map[string]session.Record{}
	}
	w.heads[id] = head
	return nil
}

func (w *recordingObserver) Deleted(ctx context.Context, id string) error {
	p, err := w.store.List(ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Deleted {
		return fmt.Errorf("told that %s is deleted, after it was: %w", id, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failing(); err != nil {
		return err
	}
	w.calls = append(w.calls, id+" deleted")
	delete(w.heads, id)
	return nil
}

// since returns what was told since the last call.
func (w *recordingObserver) since() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.calls
	w.calls = nil
	return told
}

func observedSessions(t testing.TB) (*session.Sessions, *recordingObserver) {
	t.Helper()
	store := memory.New()
	w := &recordingObserver{store: store}
	return session.New(store, &session.Options{AppendObserver: w}), w
}

func TestAppendObserverSeesAllAppends(t *testing.T) {
	s, w := observedSessions(t)
	other := session.New(s.Store(), nil) // a program that has no witness
	l := newSession(t, s, "s")
	ctx := t.Context()
	step := func(name string, err error, want ...string) {
		t.Helper()
		if got := w.since(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v; told %q, want %q", name, err, got, want)
		}
	}
	step("create", nil, "s 1")
	_, err := l.Append(ctx, userDraft("a", "a"), userDraft("b", "b"))
	step("a batch", err, "s 3")
	_, err = l.Append(ctx)
	step("nothing", err)
	_, err = l.AppendAt(ctx, 3, userDraft("c", "c"))
	step("append at", err, "s 4")
	_, err = l.AppendAt(ctx, 3, userDraft("d", "d"))
	wantErr(t, err, session.ErrConflict)
	step("a conflict", nil)
	step("rewrite", l.Rewrite(ctx, session.Rewrite{Reason: "truncate", TruncateAfter: "b"}), "s 5")
	_, err = s.AppendShared(ctx, "s", 5, answerDraft("q", "allow"))
	step("without the lease", err, "s 6")
	step("rename", s.Rename(ctx, "s", "title"), "s 7")
	step("rename to the same", s.Rename(ctx, "s", "title"))
	_, err = l.Refresh(ctx)
	step("take in", err)
	step("rename without a witness", other.Rename(ctx, "s", "another"))
	_, err = l.Append(ctx, userDraft("d", "d"))
	step("append after it", err, "s 9")
	_, err = s.Fork(ctx, "s", &session.ForkOptions{ID: "f"})
	step("fork", err, "f 11")
	l.Close()
	step("rename without a witness", other.Rename(ctx, "s", "a third"))
	l, err = s.Open(ctx, "s", nil)
	step("open", err, "s 10")
	l.Close()
	r, err := s.Restore(ctx, session.RestoreOptions{SessionID: "s", Fork: true, ForkID: "g", ItemID: "a"})
	step("restore a fork", err, "g 4", "g 4")
	r.Log.Close()
	step("save", s.Save(ctx, "new", nil, nil), "new 1")
	step("delete", s.Delete(ctx, "f"), "f deleted")
}

func TestAppendObserverFails(t *testing.T) {
	full := errors.New("no room")
	s, w := observedSessions(t)
	l := newSession(t, s, "s", "a")
	ctx := t.Context()
	w.since()
	w.fail(full, 2)
	for range 2 { // the second finds the record there, and tells again
		recs, err := l.Append(ctx, userDraft("b", "b"))
		wantErr(t, err, full)
		if e := asError(t, err); recs != nil || e.Op != "observe append" || e.Session != "s" || e.Seq != 3 || e.Hint == "" {
			t.Errorf("%+v, records %v", e, recs)
		}
		if l.Head() != 2 {
			t.Errorf("the log counts what was not witnessed: head %d", l.Head())
		}
	}
	recs := must(l.Append(ctx, userDraft("b", "b")))(t)
	if len(recs) != 1 || recs[0].Seq != 3 || !slices.Equal(w.since(), []string{"s 3"}) {
		t.Errorf("records %v", recs)
	}
	w.fail(full, 1)
	_, err := l.Append(ctx, userDraft("c", "c"))
	wantErr(t, err, full)
	must(l.Append(ctx, userDraft("d", "d")))(t) // others than those that failed
	if told := w.since(); !slices.Equal(told, []string{"s 4", "s 5"}) {
		t.Errorf("told %q", told)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b", "c", "d")
	if r := must(s.Verify(ctx, "s"))(t); !r.OK() {
		t.Errorf("%+v", r)
	}
}

// Taking in shared records waits until the append with unknown outcome was observed.
func TestAppendObserverFailsBeforeTakeIn(t *testing.T) {
	gone := errors.New("gone")
	s, w := observedSessions(t)
	l := newSession(t, s, "s", "a")
	w.fail(gone, 2)
	_, err := l.Append(t.Context(), userDraft("b", "b"))
	wantErr(t, err, gone)
	_, err = l.Refresh(t.Context())
	wantErr(t, err, gone)
	// The caller got an error, so Refresh returns the batch.
	if news := must(l.Refresh(t.Context()))(t); len(news) != 1 || l.Head() != 3 {
		t.Errorf("taken in: %v, head %d", news, l.Head())
	}
}

// An observer's error is returned as such, whatever it wraps: the batch is not retried at
// another seq.
func TestAppendObserverErrorIsNotConflict(t *testing.T) {
	s, w := observedSessions(t)
	l := newSession(t, s, "s", "a")
	w.fail(&session.Error{Op: "leaf", Err: session.ErrConflict, Hint: "look there"}, 1)
	_, err := l.Append(t.Context(), userDraft("b", "b"))
	if e := asError(t, err); e.Op != "observe append" || e.Hint != "look there" {
		t.Errorf("%+v", e)
	}
	must(l.Append(t.Context(), userDraft("b", "b")))(t)
	wantIDs(t, loaded(t, s, "s"), "a", "b")
}

func TestAppendObserverFailsElsewhere(t *testing.T) {
	gone := errors.New("gone")
	s, w := observedSessions(t)
	newSession(t, s, "s", "a").Close()
	ctx := t.Context()
	w.fail(gone, 0)
	for name, do := range map[string]func() error{
		"create": func() error { _, err := s.Create(ctx, session.Opened{SessionID: "new"}); return err },
		"open":   func() error { _, err := s.Open(ctx, "s", nil); return err },
		"restore": func() error {
			_, err := s.Restore(ctx, session.RestoreOptions{SessionID: "s"})
			return err
		},
		"fork":   func() error { _, err := s.Fork(ctx, "s", &session.ForkOptions{ID: "f"}); return err },
		"rename": func() error { return s.Rename(ctx, "s", "title") },
		"delete": func() error { return s.Delete(ctx, "s") },
	} {
		if err := do(); !errors.Is(err, gone) || asError(t, err).Op != "observe append" {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.fail(nil, 0)
	// No lease was left behind, and opening tells what could not be told.
	w.since()
	for _, id := range []string{"new", "s", "f"} {
		must(s.Open(ctx, id, nil))(t).Close()
	}
	heads := map[string]int64{}
	for id, r := range w.heads {
		heads[id] = r.Seq
	}
	for _, id := range []string{"new", "s", "f"} {
		if m := must(s.Get(ctx, id))(t); heads[id] != m.Head {
			t.Errorf("%s: witnessed up to %d, head %d", id, heads[id], m.Head)
		}
	}
}

// Every append that returned was observed, and so is the head of each log when no process
// writes.
func TestAppendObserverConcurrent(t *testing.T) {
	s, w := observedSessions(t)
	l := newSession(t, s, "s")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				if err := s.Rename(t.Context(), "s", fmt.Sprint(i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 20 {
		must(l.Append(t.Context(), userDraft(fmt.Sprint("i", i), "x")))(t)
	}
	wg.Wait()
	must(l.Refresh(t.Context()))(t)
	if want := fmt.Sprint("s ", l.Head()); !slices.Contains(w.since(), want) {
		t.Errorf("nobody told of %s", want)
	}
}
