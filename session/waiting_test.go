package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

func startedDraft(t testing.TB, use string) session.Draft {
	return draft(t, record.KindToolStarted, record.ToolStarted{Use: use, Tool: "Bash"})
}

func finishedDraft(t testing.TB, use string) session.Draft {
	return draft(t, record.KindToolFinished, record.ToolFinished{Use: use, Tool: "Bash"})
}

func questionID(q session.Record) string {
	var in struct{ ID string }
	_ = json.Unmarshal(q.Payload, &in)
	return in.ID
}

func questionIDs(qs []session.Record) string {
	var ids []string
	for _, q := range qs {
		ids = append(ids, questionID(q))
	}
	return strings.Join(ids, " ")
}

func answeredIDs(as []session.AnsweredApproval) string {
	var ids []string
	for _, a := range as {
		ids = append(ids, questionID(a.Asked)+"="+string(a.Answer.Payload))
	}
	return strings.Join(ids, " ")
}

// The state of a session after a process ended in the middle of a round, and what restoring it
// leaves and appends.
func TestRestoreWaits(t *testing.T) {
	turn := draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t1"})
	ask := func(drafts ...session.Draft) []session.Draft {
		return append([]session.Draft{turn, userDraft("u", "u")}, drafts...)
	}
	for _, c := range []struct {
		name     string
		drafts   []session.Draft
		waiting  bool
		open     string // uses of the transcript
		asked    string
		answered string
		kinds    string // that restoring appended
	}{
		{
			"nobody was asked", ask(useDraft("a", "c1")), false, "", "", "", "item turn.closed",
		},
		{
			"a question is open", ask(useDraft("a", "c1"), askDraft("q1", "c1")), true, "c1", "q1", "", "",
		},
		{
			"it was answered with a yes", ask(useDraft("a", "c1"), askDraft("q1", "c1"), answerDraft("q1", "allow")),
			true, "c1", "", `q1={"id":"q1","decision":"allow"}`, "",
		},
		{
			"it was answered with a no", ask(useDraft("a", "c1"), askDraft("q1", "c1"), answerDraft("q1", "deny")),
			true, "c1", "", `q1={"id":"q1","decision":"deny"}`, "",
		},
		{
			"the others of its round wait with it", ask(useDraft("a", "c1", "c2", "c3"), askDraft("q2", "c2")), true, "c1 c2 c3", "q2", "", "",
		},
		{
			"those before it are done", ask(useDraft("a", "c1", "c2"), startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r", "c1"), askDraft("q2", "c2")),
			true, "c2", "q2", "", "",
		},
		{
			"one was running", ask(useDraft("a", "c1", "c2", "c3"), startedDraft(t, "c1"), askDraft("q2", "c2")),
			true, "c2 c3", "q2", "", "tool.finished item",
		},
		{
			"one had finished and has no result", ask(useDraft("a", "c1", "c2"), startedDraft(t, "c1"), finishedDraft(t, "c1"), askDraft("q2", "c2")),
			true, "c2", "q2", "", "item",
		},
		{
			"it was allowed and ran", ask(useDraft("a", "c1"), askDraft("q1", "c1"), answerDraft("q1", "allow"), startedDraft(t, "c1")),
			false, "", "", "", "tool.finished item turn.closed",
		},
		{
			"it ran and the next waits", ask(useDraft("a", "c1", "c2"), askDraft("q1", "c1"), answerDraft("q1", "allow"), startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r", "c1")),
			false, "", "", "", "item turn.closed",
		},
		{
			"it was acted on and the next is asked about",
			ask(useDraft("a", "c1", "c2"), askDraft("q1", "c1"), answerDraft("q1", "deny"), resultDraft("r", "c1"), askDraft("q2", "c2")),
			true, "c2", "q2", "", "",
		},
		{
			"the question is of an older round",
			ask(useDraft("a", "c1"), askDraft("q1", "c1"), resultDraft("r", "c1"), useDraft("b", "c2")),
			false, "", "", "", "item approval.resolved turn.closed",
		},
		{
			"the question is about nothing", ask(useDraft("a", "c1"), askDraft("q1", "c7"), askDraft("q2", "")),
			false, "", "", "", "item approval.resolved approval.resolved turn.closed",
		},
		{
			"the transcript is broken", ask(resultDraft("r", "c9"), useDraft("a", "c1"), askDraft("q1", "c1")),
			false, "", "", "", "rewrite approval.resolved turn.closed",
		},
		{
			"it was cut back to the use", ask(useDraft("a", "c1", "c2"), resultDraft("r", "c1"), askDraft("q2", "c2"),
				draft(t, record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "a", Messages: 2})),
			false, "", "", "", "item item approval.resolved turn.closed",
		},
		{
			"an id comes again after a cut", ask(useDraft("a", "c1"), askDraft("q1", "c1"),
				draft(t, record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "u", Messages: 1}),
				useDraft("b", "c1"), askDraft("q2", "c1")),
			true, "c1", "q2", "", "approval.resolved",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			crash(t, s, c.drafts...)
			before := must(s.Get(t.Context(), "s"))(t).Head
			r := restore(t, s, session.RestoreOptions{SessionID: "s"})
			if r.Waiting != c.waiting {
				t.Errorf("waiting: %v", r.Waiting)
			}
			if got := kinds(t, r.Log, int(r.Log.Head()-before)); got != c.kinds {
				t.Errorf("restoring appended %q, want %q", got, c.kinds)
			}
			if got := strings.Join(r.Transcript.Open(), " "); got != c.open {
				t.Errorf("open uses %q, want %q", got, c.open)
			}
			if got := questionIDs(r.State.OpenApprovals); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
			if got := answeredIDs(r.State.Answered); got != c.answered {
				t.Errorf("answered %q, want %q", got, c.answered)
			}
			if turn := map[bool]string{true: "t1"}[c.waiting]; r.State.OpenTurn != turn {
				t.Errorf("open turn %q, want %q", r.State.OpenTurn, turn)
			}
			if m := r.Log.Meta(); m.OpenApprovals != len(r.State.OpenApprovals) || len(r.State.Running) != 0 {
				t.Errorf("%d questions are counted, %d are open; running %v", m.OpenApprovals, len(r.State.OpenApprovals), r.State.Running)
			}
			// Repeated restores, with or without takeover, give the same result.
			for _, takeover := range []bool{false, true} {
				if !takeover {
					r.Log.Close()
				}
				again := restore(t, s, session.RestoreOptions{SessionID: "s", Takeover: takeover})
				if again.Log.Head() != r.Log.Head() || again.Waiting != r.Waiting || questionIDs(again.State.OpenApprovals) != questionIDs(r.State.OpenApprovals) {
					t.Errorf("restored again (takeover %v): head %d, waiting %v", takeover, again.Log.Head(), again.Waiting)
				}
				r = again
			}
			if v := must(s.Verify(t.Context(), "s"))(t); !v.OK() {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A second answer in the log has no effect.
func TestReplayTakesTheFirstAnswer(t *testing.T) {
	recs := chain(openedDraft(t, "s"), useDraft("a", "c1"), askDraft("q1", "c1"), answerDraft("q1", "deny"), answerDraft("q1", "allow"))
	st := must(session.Replay(t.Context(), seq(recs)))(t)
	if got := answeredIDs(st.Answered); got != `q1={"id":"q1","decision":"deny"}` {
		t.Errorf("answered %q", got)
	}
}

// The outcome of a running tool is reported as unknown while the round waits.
func TestWaitingRoundReportsUnknownOutcomes(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, userDraft("u", "u"), useDraft("a", "c1", "c2"), startedDraft(t, "c1"), askDraft("q", "c2"))
	r := restore(t, s, session.RestoreOptions{SessionID: "s"})
	it := must(r.Transcript.Last().Decode())(t)
	if string(it.Metadata["outcome"]) != `"unknown"` || it.Parts[0].(transcript.ToolResult).UseID != "c1" {
		t.Errorf("%+v", it)
	}
	if got := strings.Join(r.Notices, "; "); !strings.Contains(got, "outcome is unknown") || !strings.Contains(got, "c2") {
		t.Errorf("notices %q", got)
	}
}

func TestRestoreCutsBeforeTheUse(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"}), userDraft("u", "u"), useDraft("a", "c1"), askDraft("q", "c1"))
	r := restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "u"})
	if r.Waiting || len(r.State.OpenApprovals) != 0 || len(r.State.Answered) != 0 || r.State.OpenTurn != "" || r.Log.Meta().OpenApprovals != 0 {
		t.Fatalf("%+v", r.State)
	}
	wantIDs(t, itemIDs(r.Transcript.Items()), "u")
	var answer string
	for _, rec := range must(r.Log.Tail(t.Context(), 2))(t) {
		if rec.Kind == record.KindApprovalResolved {
			answer = string(rec.Payload)
		}
	}
	if !strings.Contains(answer, `"id":"q","decision":"deny","by":"cut","at":"`) {
		t.Errorf("the question was answered with %q", answer)
	}
}

// A cut of a waiting round after its last item changes nothing.
func TestRestoreCutAtTheUse(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, userDraft("u", "u"), useDraft("a", "c1"), askDraft("q", "c1"))
	if r := restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "a"}); !r.Waiting || len(r.State.OpenApprovals) != 1 {
		t.Errorf("%+v", r.State)
	}
}

func TestForkNeverWaits(t *testing.T) {
	for name, last := range map[string][]session.Draft{"open": nil, "answered": {answerDraft("q", "allow")}} {
		t.Run(name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			crash(t, s, append([]session.Draft{
				draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"}),
				userDraft("u", "u"), useDraft("a", "c1"), askDraft("q", "c1"), draft(t, record.KindPolicyChanged, record.PolicyChanged{Mode: "plan"}),
			}, last...)...)
			before := must(s.Get(t.Context(), "s"))(t)
			r := restore(t, s, session.RestoreOptions{SessionID: "s", Fork: true})
			if r.Waiting || len(r.State.OpenApprovals)+len(r.State.Answered)+len(r.State.Policy) != 0 || r.Log.Meta().OpenApprovals != 0 || r.State.Mode != "" {
				t.Errorf("%+v", r.State)
			}
			if got := kinds(t, r.Log, int(r.Log.Head()-before.Head)); got != "session.opened meta.changed item" {
				t.Errorf("the fork holds %q", got)
			}
			if it := must(r.Transcript.Last().Decode())(t); it.Parts[0].(transcript.ToolResult).Text() != history.NotRun {
				t.Errorf("%+v", it)
			}
			if after := must(s.Get(t.Context(), "s"))(t); after != before {
				t.Errorf("the parent changed: %+v", after)
			}
			// The parent waits on, and the fork asks and waits for itself.
			if p := restore(t, s, session.RestoreOptions{SessionID: "s"}); !p.Waiting {
				t.Error("the parent does not wait any more")
			}
			must(r.Log.Append(t.Context(), useDraft("b", "c2"), askDraft("q2", "c2")))(t)
			id := r.Log.ID()
			r.Log.Close()
			if r := restore(t, s, session.RestoreOptions{SessionID: id}); !r.Waiting || questionIDs(r.State.OpenApprovals) != "q2" || r.Log.Meta().OpenApprovals != 1 {
				t.Errorf("the fork: %+v", r.State)
			}
		})
	}
}

// An answer that arrives while the session is restored is not lost, and is used only once.
func TestAnswerWhileRestoring(t *testing.T) {
	for _, open := range []bool{true, false} { // a question that waits, and one that is cut
		store := &racingStore{Store: memory.New()}
		s := session.New(store, nil)
		crash(t, s, userDraft("u", "u"), useDraft("a", "c1", "c2"), startedDraft(t, "c1"), askDraft("q", "c2"))
		store.meddle = func() {
			m := must(s.Get(t.Context(), "s"))(t)
			must(s.AppendShared(t.Context(), "s", m.Head, answerDraft("q", "allow")))(t)
		}
		o := session.RestoreOptions{SessionID: "s"}
		if !open {
			o.ItemID = "u"
		}
		r := restore(t, s, o)
		if r.Waiting != open || len(r.State.OpenApprovals) != 0 || r.Log.Meta().OpenApprovals != 0 || r.State.Head != r.Log.Head() {
			t.Errorf("open %v: waiting %v, %+v, %d questions", open, r.Waiting, r.State.OpenApprovals, r.Log.Meta().OpenApprovals)
		}
		if open && answeredIDs(r.State.Answered) != `q={"id":"q","decision":"allow"}` {
			t.Errorf("answered %q", answeredIDs(r.State.Answered))
		}
		if recs, err := r.Log.Refresh(t.Context()); err != nil || len(recs) != 0 {
			t.Errorf("what the state holds is handed out again: %+v %v", recs, err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(r.Notices), func(n string) bool { return !strings.Contains(n, "outcome is unknown") })); n != 1 {
			t.Errorf("notices %q", r.Notices)
		}
	}
}

// racingStore is a store in which another writer appends right before the next append.
type racingStore struct {
	*memory.Store
	meddle func()
	once   sync.Once
}

func (m *racingStore) Append(ctx context.Context, id string, b session.Batch) error {
	if m.meddle != nil && b.Epoch != 0 {
		m.once.Do(m.meddle)
	}
	return m.Store.Append(ctx, id, b)
}

func TestStateKeepsThePolicyOfTheRun(t *testing.T) {
	change := func(payload string) session.Draft {
		return session.Draft{Kind: record.KindPolicyChanged, Payload: []byte(payload)}
	}
	policy := func(st *session.State) string {
		var all []string
		for _, p := range st.Policy {
			all = append(all, string(p))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name   string
		drafts []session.Draft
		want   string
		mode   string
	}{
		{"none", nil, "", ""},
		{"in order", []session.Draft{change(`{"mode":"plan"}`), change(`{"grant":{"id":"g"}}`)}, `{"mode":"plan"} {"grant":{"id":"g"}}`, "plan"},
		{"ended", []session.Draft{change(`{"mode":"plan"}`), change(`{"grant":{"id":"g"}}`), change(`{"ended":true}`)}, "", "plan"},
		{"ended and begun", []session.Draft{change(`{"mode":"plan"}`), change(`{"ended":true}`), change(`{"patch":{}}`)}, `{"patch":{}}`, "plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			crash(t, s, c.drafts...)
			r := restore(t, s, session.RestoreOptions{SessionID: "s"})
			if got := policy(r.State); got != c.want || r.State.Mode != c.mode {
				t.Errorf("%s (%s), want %s (%s)", got, r.State.Mode, c.want, c.mode)
			}
		})
	}
	_, err := session.Replay(t.Context(), seq(chain(openedDraft(t, "s"), change(`{"mode":7}`))))
	wantErr(t, err, session.ErrCorrupt)
}

// Rebuilding a meta counts the approval requests again.
func TestRebuildCountsQuestions(t *testing.T) {
	dir := t.TempDir()
	for name, store := range map[string]session.Store{
		"memory": memory.New(),
		"file":   must(file.Open(filepath.Join(dir, "files"), nil))(t),
		"sqlite": must(sqlite.Open(filepath.Join(dir, "s.db"), nil))(t),
	} {
		t.Run(name, func(t *testing.T) {
			if c, ok := store.(interface{ Close() error }); ok {
				t.Cleanup(func() { c.Close() })
			}
			s := session.New(store, nil)
			l := newSession(t, s, "s")
			must(l.Append(t.Context(), userDraft("u", "u"), useDraft("a", "c1", "c2"), askDraft("q1", "c1"), askDraft("q2", "c2"), answerDraft("q1", "deny")))(t)
			l.Close()
			right := must(s.Get(t.Context(), "s"))(t)
			if right.OpenApprovals != 1 {
				t.Fatalf("%+v", right)
			}
			b, ok := session.As[session.Rebuilder](store)
			if !ok {
				t.Skip("the store does not implement session.Rebuilder, which this test needs")
			}
			wrong := right
			wrong.OpenApprovals = 5
			if err := b.PutMeta(t.Context(), wrong); err != nil {
				t.Fatal(err)
			}
			if v := must(s.Verify(t.Context(), "s"))(t); !v.MetaDiffers {
				t.Error("verifying does not see that the questions are counted wrong")
			}
			if got, err := s.Rebuild(t.Context(), "s"); err != nil || got.OpenApprovals != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if got := must(s.Get(t.Context(), "s"))(t); got.OpenApprovals != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An erased approval request is still counted, so that a meta can be rebuilt.
func TestErasedApprovalsAreCounted(t *testing.T) {
	recs := chain(openedDraft(t, "s"), askDraft("q", "u"), answerDraft("q", "deny"), askDraft("r", "u"))
	for i := range recs[1:] {
		recs[i+1].Payload = nil
	}
	d, err := session.Fold(recs)
	if err != nil || d.OpenApprovals != 1 {
		t.Errorf("%d, %v", d.OpenApprovals, err)
	}
	if _, err := session.Replay(t.Context(), seq(recs)); err != nil || errors.Is(err, session.ErrCorrupt) {
		t.Error(err)
	}
}
