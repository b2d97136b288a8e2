package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func draft(t testing.TB, k session.Kind, payload any) session.Draft {
	t.Helper()
	return must(session.NewDraft(k, payload))(t)
}

func useDraft(id string, uses ...string) session.Draft {
	it := transcript.Item{ID: id, Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishToolUse}
	for _, u := range uses {
		it.Parts = append(it.Parts, transcript.ToolUse{ID: u, Name: "Bash", Input: []byte(`{}`)})
	}
	return session.ItemDraft(it.MustEncode(), false, &record.RequestMark{API: "test", Messages: 1})
}

func resultDraft(id, use string) session.Draft {
	it := transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: "done"}}}.Item()
	it.ID = id
	return session.ItemDraft(it.MustEncode(), false, nil)
}

func restore(t testing.TB, s *session.Sessions, o session.RestoreOptions) *session.Restored {
	t.Helper()
	r := must(s.Restore(t.Context(), o))(t)
	t.Cleanup(func() { r.Log.Close() })
	return r
}

// kinds lists the kinds of the last n records.
func kinds(t testing.TB, l *session.Log, n int) string {
	t.Helper()
	var out []string
	for _, r := range must(l.Tail(t.Context(), n))(t) {
		out = append(out, string(r.Kind))
	}
	return strings.Join(out, " ")
}

func TestRestoreOrder(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s := session.New(memory.New(), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
	for _, id := range []string{"old", "recent", "wt-newest"} {
		l := must(s.Create(t.Context(), session.Opened{SessionID: id, Project: "p"}))(t)
		for _, it := range []string{"a", "b", "c"} {
			must(l.Append(t.Context(), userDraft(it, it)))(t)
		}
		l.Close()
	}
	newSession(t, s, "other project", "x").Close()

	r := restore(t, s, session.RestoreOptions{ContinueRecent: true, Project: "p", Fork: true, ForkID: "fork", ItemID: "b"})
	if r.Log.ID() != "fork" || r.Forked != "recent" || r.Created || r.State.SessionID != "fork" {
		t.Fatalf("%+v", r)
	}
	wantIDs(t, itemIDs(r.State.Items), "a", "b")
	wantIDs(t, loaded(t, s, "recent"), "a", "b", "c")

	for _, c := range []struct {
		name    string
		o       session.RestoreOptions
		id      string
		created bool
	}{
		{"an id wins over continue", session.RestoreOptions{SessionID: "old", ContinueRecent: true}, "old", false},
		{"any project", session.RestoreOptions{ContinueRecent: true}, "other project", false},
		{"nothing to continue", session.RestoreOptions{ContinueRecent: true, Project: "q", Opened: session.Opened{SessionID: "first"}}, "first", true},
		{"an unknown id", session.RestoreOptions{SessionID: "new"}, "new", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "any project" { // the fork is newer otherwise
				r.Log.Close()
				if err := s.Delete(t.Context(), "fork"); err != nil {
					t.Fatal(err)
				}
			}
			r := restore(t, s, c.o)
			if r.Log.ID() != c.id || r.Created != c.created {
				t.Fatalf("%s %v", r.Log.ID(), r.Created)
			}
			r.Log.Close()
			if err := s.Tag(t.Context(), "other project", c.name); err != nil { // keeps it the newest
				t.Fatal(err)
			}
		})
	}
	a, b := restore(t, s, session.RestoreOptions{}), restore(t, s, session.RestoreOptions{})
	if a.Log.ID() == b.Log.ID() || !a.Created {
		t.Fatal("a session without an id is not new")
	}
}

func TestRestoreErrors(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "session-one", "item-1", "item-2")
	for _, c := range []struct {
		name string
		o    session.RestoreOptions
		want error
		hint string
	}{
		{"must exist", session.RestoreOptions{SessionID: "session-ome", MustExist: true}, session.ErrNotFound, "nearest: session-one"},
		{"fork of nothing", session.RestoreOptions{SessionID: "none", Fork: true}, session.ErrNotFound, "holdfast sessions list"},
		{"cut of nothing", session.RestoreOptions{SessionID: "none", ItemID: "x"}, session.ErrNotFound, "holdfast sessions list"},
		{"nothing to continue", session.RestoreOptions{ContinueRecent: true, Project: "none", MustExist: true}, session.ErrNotFound, "holdfast sessions list"},
		{"bad id", session.RestoreOptions{SessionID: "a/b"}, session.ErrInvalidID, "use letters, digits, '-' and '_'"},
		{"cut with nothing to continue", session.RestoreOptions{ContinueRecent: true, Project: "none", ItemID: "x"}, session.ErrNotFound, "holdfast sessions list"},
		{"cut of a new session", session.RestoreOptions{ItemID: "x"}, session.ErrInvalid, "set SessionID"},
		{"busy", session.RestoreOptions{SessionID: "session-one"}, session.ErrBusy, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Restore(t.Context(), c.o)
			wantErr(t, err, c.want)
			if h := session.Hint(err); h != c.hint {
				t.Errorf("hint %q, want %q", h, c.hint)
			}
		})
	}
	l.Close()
	for _, fork := range []bool{false, true} {
		_, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: "session-one", ItemID: "item-9", Fork: fork})
		wantErr(t, err, session.ErrInvalid)
		if h := session.Hint(err); h != "nearest: item-1, item-2" && h != "nearest: item-2, item-1" {
			t.Errorf("hint %q", h)
		}
	}
	wantIDs(t, loaded(t, s, "session-one"), "item-1", "item-2")
}

func TestRestoreTruncates(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "a", "b", "c").Close()
	r := restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "b"})
	wantIDs(t, itemIDs(r.State.Items), "a", "b")
	if r.Log.Meta().MessageCount != 2 || len(r.Notices) != 1 {
		t.Fatalf("%+v %q", r.Log.Meta(), r.Notices)
	}
	r.Log.Close()
	wantIDs(t, loaded(t, s, "s"), "a", "b")
	n := 0
	for rec, err := range s.Records(t.Context(), "s", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == session.KindItem {
			n++
		}
	}
	if n != 3 {
		t.Fatal("what was cut is not in the log any more")
	}
	head := r.Log.Head()
	r = restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "b"})
	if r.Log.Head() != head || len(r.Notices) != 0 {
		t.Fatal("cutting after the last item wrote something")
	}
}

// crash leaves a session as a process that died would, by its drafts.
func crash(t testing.TB, s *session.Sessions, drafts ...session.Draft) {
	t.Helper()
	l := newSession(t, s, "s")
	for _, d := range drafts {
		must(l.Append(t.Context(), d))(t)
	}
	l.Close()
}

func TestRestoreRepairs(t *testing.T) {
	started := func(use string) session.Draft {
		return draft(t, record.KindToolStarted, record.ToolStarted{Use: use, Tool: "Bash"})
	}
	finished := func(use string) session.Draft {
		return draft(t, record.KindToolFinished, record.ToolFinished{Use: use, Tool: "Bash"})
	}
	turn := draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t1"})
	closed := draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t1", Reason: "completed"})
	for _, c := range []struct {
		name    string
		drafts  []session.Draft
		kinds   string // that restoring appended
		notices []string
		items   int
	}{
		{"nothing to do", []session.Draft{turn, userDraft("u", "u"), closed}, "", nil, 1},
		{"turn never closed", []session.Draft{turn, userDraft("u", "u")}, "turn.closed", []string{"turn t1 was interrupted"}, 1},
		{
			"call never started",
			[]session.Draft{turn, userDraft("u", "u"), useDraft("a", "c1")},
			"item turn.closed",
			[]string{"c1", "turn t1 was interrupted"},
			3,
		},
		{
			"call started",
			[]session.Draft{turn, userDraft("u", "u"), useDraft("a", "c1"), started("c1")},
			"tool.finished item turn.closed",
			[]string{"outcome is unknown", "turn t1 was interrupted"},
			3,
		},
		{
			"one of two answered",
			[]session.Draft{turn, userDraft("u", "u"), useDraft("a", "c1", "c2"), started("c1"), finished("c1"), resultDraft("r", "c1"), started("c2")},
			"tool.finished item turn.closed",
			[]string{"c2", "interrupted"},
			4,
		},
		{
			"finished without its result",
			[]session.Draft{turn, userDraft("u", "u"), useDraft("a", "c1"), started("c1"), finished("c1")},
			"item turn.closed",
			[]string{"", "interrupted"},
			3,
		},
		{"result without its use", []session.Draft{userDraft("u", "u"), resultDraft("r", "c1")}, "rewrite", []string{"orphaned tool_result c1"}, 2},
		{
			"two results",
			[]session.Draft{userDraft("u", "u"), useDraft("a", "c1"), resultDraft("r", "c1"), resultDraft("r2", "c1")},
			"rewrite",
			[]string{"duplicate tool_result c1"},
			4,
		},
		{
			"a question between use and result",
			[]session.Draft{userDraft("u", "u"), useDraft("a", "c1"), userDraft("u2", "u")},
			"rewrite",
			[]string{"tool use c1 had no result"},
			4,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			crash(t, s, c.drafts...)
			before := must(s.Get(t.Context(), "s"))(t).Head
			r := restore(t, s, session.RestoreOptions{SessionID: "s"})
			if got := kinds(t, r.Log, int(r.Log.Head()-before)); got != c.kinds {
				t.Errorf("restoring appended %q, want %q", got, c.kinds)
			}
			if err := transcript.Validate(r.State.Items); err != nil {
				t.Error(err)
			}
			if len(r.State.Items) != c.items {
				t.Errorf("%d items, want %d", len(r.State.Items), c.items)
			}
			if len(r.State.Running) != 0 || r.State.OpenTurn != "" || r.State.Head != r.Log.Head() {
				t.Errorf("state after mending: %+v", r.State)
			}
			if got := strings.Join(r.Notices, "\n"); len(c.notices) > 0 {
				for _, n := range c.notices {
					if !strings.Contains(got, n) {
						t.Errorf("notices %q do not say %q", got, n)
					}
				}
			} else if got != "" {
				t.Errorf("notices %q", got)
			}
			// A second restore finds nothing to do, and the same state.
			r.Log.Close()
			again := restore(t, s, session.RestoreOptions{SessionID: "s"})
			if again.Log.Head() != r.Log.Head() || len(again.Notices) != 0 {
				t.Errorf("the second restore did something: %q", again.Notices)
			}
			wantIDs(t, itemIDs(again.State.Items), itemIDs(r.State.Items)...)
			if v := must(s.Verify(t.Context(), "s"))(t); !v.OK() || len(v.Notices) > 0 {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestRestoreForkCutsBetweenUseAndResult(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, userDraft("u", "u"), useDraft("a", "c1"), draft(t, record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}), resultDraft("r", "c1"))
	for _, fork := range []bool{true, false} {
		r := restore(t, s, session.RestoreOptions{SessionID: "s", Fork: fork, ItemID: "a"})
		if err := transcript.Validate(r.State.Items); err != nil || len(r.State.Items) != 3 {
			t.Fatalf("fork %v: %v, %d items", fork, err, len(r.State.Items))
		}
		r.Log.Close()
	}
}

func TestRestoreKeepsTheQueueAndReportsDifferences(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := must(s.Create(t.Context(), session.Opened{SessionID: "s", CWD: "/other", Model: "m1"}))(t)
	queued := func(id string) session.Draft {
		it := transcript.UserText("later")
		it.ID = id
		return session.ItemDraft(it.MustEncode(), true, nil)
	}
	must(l.Append(t.Context(), queued("q1"), queued("q2"), userDraft("q1", "later")))(t)
	l.Close()
	r := restore(t, s, session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: "/here", Model: "m2"}})
	wantIDs(t, itemIDs(r.State.Queue), "q2")
	wantIDs(t, itemIDs(r.State.Items), "q1")
	if got := strings.Join(r.Notices, "; "); got != "the session's folder changed from /other to /here; the session's model changed from m1 to m2" {
		t.Errorf("notices %q", got)
	}
	r.Log.Close()
	// The queue is the parent's: its fork does not do the same work again.
	f := restore(t, s, session.RestoreOptions{SessionID: "s", Fork: true})
	if len(f.State.Queue) != 0 {
		t.Error("the fork has the source's queue")
	}
}
