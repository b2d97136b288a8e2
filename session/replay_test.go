package session_test

import (
	"context"
	"crypto/sha256"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// chain seals drafts into records.
func chain(drafts ...session.Draft) []session.Record {
	recs := make([]session.Record, len(drafts))
	var prev session.Digest
	for i, d := range drafts {
		recs[i] = session.Record{Seq: int64(i + 1), ID: d.ID, Time: time.UnixMilli(int64(i)), Kind: d.Kind, Payload: d.Payload}
		recs[i].Seal(prev)
		prev = recs[i].Digest
	}
	return recs
}

func seq(recs []session.Record) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func openedDraft(t testing.TB, id string) session.Draft {
	return draft(t, record.KindOpened, session.Opened{Format: record.FormatVersion, SessionID: id})
}

func TestReplay(t *testing.T) {
	answer := func(id string, messages int) session.Draft {
		it := transcript.Item{
			ID: id, Role: transcript.RoleAssistant, Usage: &transcript.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5},
			Parts: []transcript.Part{transcript.Text{Text: `"usage":{"input":100}`}},
		}
		return session.ItemDraft(it.MustEncode(), false, &record.RequestMark{API: "x", Messages: messages, Prefix: session.Digest(sha256.Sum256([]byte(id))).String()})
	}
	calls := transcript.Item{ID: "a3", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "c0", Name: "Bash"}}}
	recs := chain(
		openedDraft(t, "s"),
		draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t1"}),
		userDraft("u1", "hi"), answer("a1", 1),
		draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t1", Cost: 0.5}),
		draft(t, record.KindPolicyChanged, record.PolicyChanged{Mode: "plan"}),
		draft(t, record.KindPolicyChanged, record.PolicyChanged{By: "no mode"}),
		draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t2"}),
		userDraft("u2", "more"), answer("a2", 3),
		session.ItemDraft(calls.MustEncode(), false, nil),
		session.Draft{Kind: record.KindApprovalAsked, Payload: []byte(`{"id":"q1","use_id":"c0","what":1}`)},
		session.Draft{Kind: record.KindApprovalAsked, Payload: []byte(`{"id":"q2"}`)},
		session.Draft{Kind: record.KindApprovalResolved, Payload: []byte(`{"id":"q1","decision":"allow"}`)},
		draft(t, record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "A"}),
		draft(t, record.KindToolStarted, record.ToolStarted{Use: "c2", Tool: "B"}),
		draft(t, record.KindToolFinished, record.ToolFinished{Use: "c1", Tool: "A"}),
		session.Draft{Kind: record.KindDecision, Payload: []byte(`{}`)},
		session.Draft{Kind: record.KindHookRan, Payload: []byte(`{}`)},
		session.Draft{Kind: record.KindVendorMapped, Payload: []byte(`{}`)},
	)
	st := must(session.Replay(t.Context(), seq(recs)))(t)
	want := &session.State{
		SessionID: "s", Head: 20, Running: []record.ToolStarted{{Use: "c2", Tool: "B"}}, OpenTurn: "t2", Turns: 2, Mode: "plan", ModeSeq: 6,
		Mark:  &record.RequestMark{API: "x", Messages: 3, Prefix: session.Digest(sha256.Sum256([]byte("a2"))).String()},
		Usage: transcript.Usage{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8, Reasoning: 10}, CostUSD: 0.5, Tokens: 20,
		OpenApprovals: []session.Record{recs[12]}, Answered: []session.AnsweredApproval{{Asked: recs[11], Answer: recs[13]}},
		Policy:  []rawJSON{rawJSON(`{"mode":"plan"}`), rawJSON(`{"by":"no mode"}`)},
		UsedIDs: map[string]bool{"q1": true, "q2": true},
	}
	if d := cmp.Diff(want, st, cmpopts.IgnoreFields(session.State{}, "Items"), cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
	wantIDs(t, itemIDs(st.Items), "u1", "a1", "u2", "a2", "a3")

	// A cut drops the marks behind it, a rewrite drops them all.
	cut := chain(slices.Concat(drafts(recs), []session.Draft{draft(t, record.KindRewrite, session.Rewrite{TruncateAfter: "u2", Messages: 3})})...)
	if st := must(session.Replay(t.Context(), seq(cut)))(t); st.Mark == nil || st.Mark.Messages != 1 || st.Usage.Input != 2 {
		t.Fatalf("%+v", st)
	}
	all := chain(slices.Concat(drafts(recs), []session.Draft{draft(t, record.KindRewrite, session.Rewrite{Items: []rawJSON{item("new")}, Messages: 1})})...)
	if st := must(session.Replay(t.Context(), seq(all)))(t); st.Mark != nil || len(st.Items) != 1 {
		t.Fatalf("%+v", st)
	}
}

func drafts(recs []session.Record) (ds []session.Draft) {
	for _, r := range recs {
		ds = append(ds, session.Draft{Kind: r.Kind, Payload: r.Payload})
	}
	return ds
}

func TestReplayFaults(t *testing.T) {
	good := func() []session.Record {
		ds := []session.Draft{openedDraft(t, "s")}
		for i := range 600 {
			ds = append(ds, userDraft(string(rune('a'+i%26))+time.Duration(i).String(), "x"))
		}
		return chain(ds...)
	}
	for _, c := range []struct {
		name   string
		damage func([]session.Record) []session.Record
		want   error
		seq    int64
	}{
		{"payload", func(r []session.Record) []session.Record {
			r[300].Payload = []byte(`{"item":{"role":"user","parts":[]}}`)
			return r
		}, session.ErrCorrupt, 301},
		{"payload is no item", func(r []session.Record) []session.Record { r[300].Payload = []byte(`{`); return r }, session.ErrCorrupt, 301},
		{"time", func(r []session.Record) []session.Record { r[300].Time = time.UnixMilli(77); return r }, session.ErrCorrupt, 301},
		{"id", func(r []session.Record) []session.Record { r[300].ID = "x"; return r }, session.ErrCorrupt, 301},
		{"kind", func(r []session.Record) []session.Record { r[300].Kind = record.KindHookRan; return r }, session.ErrCorrupt, 301},
		{"a record is missing", func(r []session.Record) []session.Record { return slices.Delete(r, 300, 301) }, session.ErrCorrupt, 302},
		{"two are swapped", func(r []session.Record) []session.Record { r[300], r[301] = r[301], r[300]; return r }, session.ErrCorrupt, 302},
		{"the first is missing", func(r []session.Record) []session.Record { return r[1:] }, session.ErrCorrupt, 2},
		{"resealed alone", func(r []session.Record) []session.Record {
			r[300].Payload = r[299].Payload
			r[300].Seal(r[299].Digest)
			return r
		}, session.ErrCorrupt, 302},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := session.Replay(t.Context(), seq(c.damage(good())))
			wantErr(t, err, c.want)
			if e := asError(t, err); e.Seq != c.seq || e.Hint == "" {
				t.Errorf("%+v, want seq %d and a hint", e, c.seq)
			}
		})
	}
	for name, d := range map[string]session.Draft{
		"unknown kind": {Kind: "from.tomorrow", Payload: []byte(`{}`)},
		"newer format": draft(t, record.KindOpened, session.Opened{Format: record.FormatVersion + 1, SessionID: "s"}),
	} {
		_, err := session.Replay(t.Context(), seq(chain(openedDraft(t, "s"), d)))
		wantErr(t, err, session.ErrNewer)
		if session.Hint(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	_, err := session.Replay(t.Context(), seq(chain(openedDraft(t, "s"), draft(t, record.KindRewrite, session.Rewrite{TruncateAfter: "x"}))))
	wantErr(t, err, session.ErrCorrupt)
}

func TestReplayErasedPayloads(t *testing.T) {
	recs := chain(openedDraft(t, "s"), userDraft("a", "secret"), userDraft("b", "b"))
	recs[1].Payload = nil
	st := must(session.Replay(t.Context(), seq(recs)))(t)
	wantIDs(t, itemIDs(st.Items), "b")
}

func TestReplayCancelled(t *testing.T) {
	s := session.New(memory.New(), nil)
	longSession(t, s, "s", 1000)
	var recs []session.Record
	for r := range s.Records(t.Context(), "s", session.Range{}) {
		recs = append(recs, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := session.Replay(ctx, seq(recs))
	wantErr(t, err, context.Canceled)
}

func FuzzReadItem(f *testing.F) {
	f.Add([]byte(`{"item":{"role":"user","id":"a","parts":[{"type":"text","text":"x"}]},"queued":true}`))
	f.Add([]byte(`{"queued":false,"item":{"role":"assistant","parts":[{"type":"tool_use","id":"c"}]},"request":{"api":"x","messages":3}}`))
	f.Add([]byte(`{"item":{"role":"tool","parts":[{"type":"tool_result","use_id":"c","content":[]}]`))
	f.Add([]byte(`{"item":`))
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := record.ReadItem(b)
		if err == nil && !it.Item.Role().Valid() {
			t.Error("an item without a role")
		}
		it.Mark()
		it.Item.Text()
		recs := chain(session.Draft{Kind: session.KindItem, Payload: b})
		_, foldErr := session.Fold(recs)
		if (err == nil) != (foldErr == nil) && b != nil {
			t.Errorf("ReadItem says %v, Fold says %v", err, foldErr)
		}
		for _, k := range record.Kinds() { // no payload may crash a replay
			_, _ = session.Replay(context.Background(), seq(chain(session.Draft{Kind: session.Kind(k), Payload: b})))
		}
	})
}
