package session_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// faulty is a store whose appends can be made to fail, before or after the work.
type faulty struct {
	*memory.Store
	mu     sync.Mutex
	before error // fail and do nothing
	after  error // do it, then fail
	deaf   bool  // nothing can be read
	late   bool  // with before: do it when the next append comes
	kept   func() error
}

var errLost = errors.New("connection lost")

func (f *faulty) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	f.mu.Lock()
	deaf := f.deaf
	f.mu.Unlock()
	if deaf {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, errLost) }
	}
	return f.Store.Read(ctx, id, r)
}

func (f *faulty) Append(ctx context.Context, id string, b session.Batch) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.before, f.after = nil, nil
	late, kept := f.late, f.kept
	f.late, f.kept = false, nil
	if late {
		f.kept = func() error { return f.Store.Append(context.WithoutCancel(ctx), id, b) }
	}
	f.mu.Unlock()
	if before != nil {
		return before
	}
	if kept != nil {
		if err := kept(); err != nil {
			return err
		}
	}
	if err := f.Store.Append(ctx, id, b); err != nil {
		return err
	}
	return after
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newSession(t testing.TB, s *session.Sessions, id string, items ...string) *session.Log {
	t.Helper()
	l := must(s.Create(t.Context(), session.Opened{SessionID: id}))(t)
	t.Cleanup(func() { l.Close() })
	for _, it := range items {
		if _, err := l.Append(t.Context(), userDraft(it, "text of "+it)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func itemIDs(items []transcript.Encoded) []string {
	ids := []string{}
	for _, e := range items {
		ids = append(ids, e.ID())
	}
	return ids
}

func loaded(t testing.TB, s *session.Sessions, id string) []string {
	t.Helper()
	return itemIDs(must(s.Load(t.Context(), id, nil))(t).Items)
}

func wantIDs(t testing.TB, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		t.Fatalf("items differ (-want +got):\n%s", d)
	}
}

func wantErr(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func TestAppendNumbersAndChains(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a", "b")
	recs := must(l.Append(t.Context(), userDraft("c", "c"), userDraft("d", "d")))(t)
	if len(recs) != 2 || recs[0].Seq != 4 || recs[1].Seq != 5 || recs[1].Prev != recs[0].Digest || l.Head() != 5 {
		t.Fatalf("records %+v, head %d", recs, l.Head())
	}
	if recs[0].Time.Nanosecond()%1e6 != 0 {
		t.Fatal("time is not in whole milliseconds")
	}
	tail := must(l.Tail(t.Context(), 2))(t)
	if d := cmp.Diff(recs, tail); d != "" {
		t.Fatal(d)
	}
	if none := must(l.Append(t.Context()))(t); none != nil {
		t.Fatal("an empty append made records")
	}
	if none := must(l.Tail(t.Context(), 0))(t); none != nil {
		t.Fatal("an empty tail has records")
	}
}

func TestAppendRefuses(t *testing.T) {
	l := newSession(t, session.New(memory.New(), nil), "s")
	for name, d := range map[string]session.Draft{
		"unknown kind":   {Kind: "nonsense", Payload: []byte(`{}`)},
		"no payload":     {Kind: record.KindTurnOpened},
		"an array":       {Kind: record.KindTurnOpened, Payload: []byte(`[]`)},
		"opened again":   {Kind: record.KindOpened, Payload: []byte(`{}`)},
		"broken lines":   {Kind: record.KindTurnOpened, Payload: []byte("{\n\"turn\":}")},
		"broken item":    {Kind: session.KindItem, Payload: []byte(`{"item":{"role":"nobody"}}`)},
		"broken rewrite": {Kind: record.KindRewrite, Payload: []byte(`{"messages":"x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Append(t.Context(), d)
			wantErr(t, err, session.ErrInvalid)
		})
	}
	if l.Head() != 1 {
		t.Fatalf("head is %d after refused appends", l.Head())
	}
	recs := must(l.Append(t.Context(), session.Draft{Kind: record.KindTurnOpened, Payload: []byte(" {\n \"turn\": \"t\"\n}\n")}))(t)
	if got := string(recs[0].Payload); got != `{"turn":"t"}` {
		t.Fatalf("payload on several lines became %s", got)
	}
}

func TestAppendAtRequiresHead(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	if _, err := l.AppendAt(t.Context(), 2, userDraft("b", "b")); err != nil {
		t.Fatal(err)
	}
	_, err := l.AppendAt(t.Context(), 2, userDraft("c", "c"))
	wantErr(t, err, session.ErrConflict)
	if err := s.Rename(t.Context(), "s", "by somebody else"); err != nil {
		t.Fatal(err)
	}
	_, err = l.AppendAt(t.Context(), 3, userDraft("c", "c"))
	wantErr(t, err, session.ErrConflict)
	if _, err = l.Append(t.Context(), userDraft("c", "c")); err != nil {
		t.Fatal(err)
	}
	if m := l.Meta(); m.Title != "by somebody else" || m.Head != 5 {
		t.Fatalf("the rename was not taken in: %+v", m)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b", "c")
}

// TestTwoWritersWithoutLeases has a store without leases: integers alone decide.
func TestTwoWritersWithoutLeases(t *testing.T) {
	type plain struct{ session.Store }
	s := session.New(plain{memoryWithoutLeases{memory.New()}}, nil)
	a := newSession(t, s, "s")
	b := must(s.Open(t.Context(), "s", nil))(t)
	defer b.Close()
	if _, err := a.Append(t.Context(), userDraft("a", "a")); err != nil {
		t.Fatal(err)
	}
	_, err := b.Append(t.Context(), userDraft("b", "b"))
	wantErr(t, err, session.ErrConflict)
	wantIDs(t, loaded(t, s, "s"), "a")
}

// memoryWithoutLeases lets every epoch-0 append through by taking the lease itself.
type memoryWithoutLeases struct{ *memory.Store }

func (m memoryWithoutLeases) Append(ctx context.Context, id string, b session.Batch) error {
	l, err := m.Acquire(ctx, id, session.Lease{}, func(session.Lease) bool { return true })
	if err != nil {
		return err
	}
	b.Epoch = l.Epoch
	return m.Store.Append(ctx, id, b)
}

func TestAppendUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after error
		deaf          bool // nothing can be looked up either
		late          bool // it is carried out afterwards
		appended      bool // the first append
		retrySame     bool
		want          []string
	}{
		{name: "written", after: errLost, appended: true, want: []string{"a", "b", "c"}},
		{name: "written, nobody can tell, same drafts again", after: errLost, deaf: true, retrySame: true, want: []string{"a", "b"}},
		{name: "written, nobody can tell, others follow", after: errLost, deaf: true, want: []string{"a", "b", "c"}},
		{name: "not written, same drafts again", before: errLost, retrySame: true, want: []string{"a", "b"}},
		{name: "not written, others follow", before: errLost, want: []string{"a", "c"}},
		{name: "not written, nobody can tell, same drafts again", before: errLost, deaf: true, retrySame: true, want: []string{"a", "b"}},
		{name: "not written, nobody can tell, others follow", before: errLost, deaf: true, want: []string{"a", "c"}},
		{name: "written late, same drafts again", before: errLost, late: true, retrySame: true, want: []string{"a", "b"}},
		{name: "written late, others follow", before: errLost, late: true, want: []string{"a", "b", "c"}},
		{name: "full: surely not written", before: session.ErrFull, retrySame: true, want: []string{"a", "b"}},
	} {
		for _, how := range []string{"Append", "AppendAt"} {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &faulty{Store: memory.New()}
					s := session.New(store, nil)
					l := newSession(t, s, "s", "a")
					defer l.Close()
					store.before, store.after, store.deaf, store.late = c.before, c.after, c.deaf, c.late
					_, err := l.Append(t.Context(), userDraft("b", "b"))
					if (err == nil) != c.appended {
						t.Fatal(err)
					}
					store.deaf = false
					next := userDraft("c", "c")
					if c.retrySame {
						next = userDraft("b", "b")
					}
					var recs []session.Record
					if how == "Append" {
						recs, err = l.Append(t.Context(), next)
					} else {
						head := l.Head()
						recs, err = l.AppendAt(t.Context(), head, next)
						if !c.retrySame && len(c.want) == 3 && !c.appended { // the head has moved after all
							wantErr(t, err, session.ErrConflict)
							if recs := must(l.Refresh(t.Context()))(t); len(recs) != 1 || recs[0].Seq != 3 {
								t.Fatalf("taken in: %v", recs)
							}
							recs, err = l.AppendAt(t.Context(), 3, next)
						}
					}
					if err != nil || len(recs) != 1 || recs[0].Seq != l.Head() {
						t.Fatalf("%v %v", recs, err)
					}
					wantIDs(t, loaded(t, s, "s"), c.want...)
					r := must(s.Verify(t.Context(), "s"))(t)
					if !r.OK() {
						t.Fatalf("%+v", r)
					}
				})
			})
		}
	}
}

// The looks at a store that is away end: the caller is told that it is not known.
func TestAppendUnknownOutcomeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory.New()}
		l := newSession(t, session.New(store, nil), "s", "a")
		defer l.Close()
		store.before, store.deaf = errLost, true
		began := time.Now()
		_, err := l.Append(t.Context(), userDraft("b", "b"))
		wantErr(t, err, errLost)
		if !strings.Contains(err.Error(), "is unknown") || time.Since(began) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		_, err = l.Append(t.Context(), userDraft("c", "c"))
		wantErr(t, err, errLost) // before it is known
		store.deaf = false
	})
}

func TestAppendCancelled(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Append(ctx, userDraft("b", "b"))
	wantErr(t, err, context.Canceled)
	if _, err := l.Append(t.Context(), userDraft("b", "b")); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b")
}

func TestClosed(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Append(t.Context(), userDraft("b", "b"))
	wantErr(t, err, session.ErrClosed)
	_, err = l.AppendAt(t.Context(), 2, userDraft("b", "b"))
	wantErr(t, err, session.ErrClosed)
	wantErr(t, l.Rewrite(t.Context(), session.Rewrite{Reason: "mutator"}), session.ErrClosed)
}

func TestConcurrentAppendsAreOrdered(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 5 {
				if _, err := l.Append(t.Context(), userDraft(fmt.Sprint(i, "-", j), "x")); err != nil {
					t.Error(err)
				}
				if i == 0 {
					if err := s.Tag(t.Context(), "s", fmt.Sprint(j)); err != nil {
						t.Error(err)
					}
				}
				_, _ = l.Meta(), l.Head()
			}
		})
	}
	wg.Wait()
	st := must(l.Snapshot(t.Context()))(t)
	if len(st.Items) != 80 {
		t.Fatalf("%d items, want 80", len(st.Items))
	}
	if r := must(s.Verify(t.Context(), "s"))(t); !r.OK() || r.Meta.Tag != "4" {
		t.Fatalf("%+v", r)
	}
}

func TestRewrite(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a", "b", "c")
	raw := func(it transcript.Item) []byte { return it.MustEncode().JSON }
	bad := session.Rewrite{Reason: "mutator", Items: []rawJSON{raw(transcript.ToolResult{UseID: "x"}.Item())}}
	err := l.Rewrite(t.Context(), bad)
	wantErr(t, err, session.ErrInvalid)
	if _, ok := errors.AsType[*transcript.PairingError](err); !ok {
		t.Errorf("%v does not say which tool use does not pair", err)
	}
	for name, w := range map[string]session.Rewrite{
		"no reason":     {TruncateAfter: "a"},
		"both":          {Reason: "x", TruncateAfter: "a", Items: []rawJSON{raw(transcript.UserText("x"))}},
		"unknown item":  {Reason: "truncate", TruncateAfter: "aa"},
		"not an item":   {Reason: "x", Items: []rawJSON{[]byte(`{"role":"nobody"}`)}},
		"not even JSON": {Reason: "x", Items: []rawJSON{[]byte(`{`)}},
	} {
		if err := l.Rewrite(t.Context(), w); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if hint := session.Hint(l.Rewrite(t.Context(), session.Rewrite{Reason: "truncate", TruncateAfter: "aa"})); hint != "nearest: a, c, b" {
		t.Errorf("hint %q", hint)
	}
	if err := l.Rewrite(t.Context(), session.Rewrite{Reason: "truncate", TruncateAfter: "b", Messages: 99}); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, loaded(t, s, "s"), "a", "b")
	if n := l.Meta().MessageCount; n != 2 {
		t.Fatalf("MessageCount %d", n)
	}
	odd := transcript.Item{
		ID: "n", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "<b> & \u2028 é"}},
		Native: &transcript.Native{API: "x", JSON: []byte(`{"n":9007199254740993,"t":"<&>"}`)},
	}
	if err := l.Rewrite(t.Context(), session.Rewrite{Reason: "mutator", Items: []rawJSON{raw(odd)}}); err != nil {
		t.Fatal(err)
	}
	got := must(s.Load(t.Context(), "s", nil))(t)
	if string(got.Items[0].JSON) != string(raw(odd)) {
		t.Fatalf("a rewrite changed an item's bytes: %s", got.Items[0].JSON)
	}
	if err := l.Rewrite(t.Context(), session.Rewrite{Reason: "mutator"}); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, loaded(t, s, "s"))
	st := must(l.Snapshot(t.Context()))(t)
	if len(st.Items) != 0 || l.Meta().MessageCount != 0 {
		t.Fatal("the empty rewrite left items")
	}
}
