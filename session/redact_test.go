package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

const private = "Rosebud-4711"

// eachStore runs a test on every kind of store.
func eachStore(t *testing.T, test func(t *testing.T, store session.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.New()) })
	t.Run("file", func(t *testing.T) {
		s := must(file.Open(t.TempDir(), nil))(t)
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
	t.Run("sqlite", func(t *testing.T) {
		s := must(sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil))(t)
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
}

// mask replaces the word private in payloads.
func mask(t testing.TB) func(json.RawMessage) json.RawMessage {
	t.Helper()
	m, err := secret.New(&secret.Options{NoBuiltin: true, Patterns: []secret.Pattern{{ID: "x", Expr: private, Replacement: record.Erased}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(raw json.RawMessage) json.RawMessage {
		out, _ := m.JSON(raw)
		return out
	}
}

// secretive is a session in which the word private is everywhere: 1 opened, 2 prompt, 3 hook,
// 4 answer with a tool use, 5 asked, 6 resolved, 7 decision, 8 started, 9 finished,
// 10 result, 11 answer, 12 turn closed, 13 prompt.
func secretive(t *testing.T, s *session.Sessions, id string) {
	t.Helper()
	l := must(s.Create(t.Context(), session.Opened{SessionID: id, CWD: "/src"}))(t)
	defer l.Close()
	item := func(it transcript.Item) session.Draft {
		return session.ItemDraft(it.MustEncode(), false, nil)
	}
	raw := func(k session.Kind, payload string) session.Draft {
		return session.Draft{Kind: k, Payload: json.RawMessage(payload)}
	}
	must(l.Append(t.Context(),
		userDraft("p1", "the word is "+private),
		raw(record.KindHookRan, `{"event":"UserPromptSubmit","message":"`+private+`"}`),
		item(transcript.Item{
			ID: "a1", Role: transcript.RoleAssistant, Model: "m1", Finish: transcript.FinishToolUse,
			Parts: []transcript.Part{
				transcript.Thinking{Text: "hm, " + private, Signature: "sig"},
				transcript.ToolUse{ID: "u1", Name: "Bash", Input: json.RawMessage(`{"command":"echo ` + private + `"}`)},
			},
			Native: &transcript.Native{API: "test", JSON: json.RawMessage(`{"c":"` + private + `"}`)},
		}),
		raw(record.KindApprovalAsked, `{"id":"q1","use_id":"u1","input":"`+private+`"}`),
		raw(record.KindApprovalResolved, `{"id":"q1","decision":"allow","by":"me","message":"`+private+`"}`),
		raw(record.KindDecision, `{"use_id":"u1","behavior":"allow","input":"`+private+`"}`),
		draft(t, record.KindToolStarted, record.ToolStarted{Use: "u1", Tool: "Bash"}),
		draft(t, record.KindToolFinished, record.ToolFinished{Use: "u1", Tool: "Bash"}),
		item(transcript.Item{ID: "r1", Role: transcript.RoleTool, Parts: []transcript.Part{
			transcript.ToolResult{UseID: "u1", Content: []transcript.Part{transcript.Text{Text: private + " said"}}},
		}}),
		item(transcript.Item{ID: "a2", Role: transcript.RoleAssistant, Model: "m2", Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}}),
		draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t", Reason: "completed"}),
		userDraft("p2", "once more: "+private+" please"),
	))(t)
	if err := s.Rename(t.Context(), id, "about "+private); err != nil {
		t.Fatal(err)
	}
}

// everything is all that a session shows, as one text.
func everything(t testing.TB, s *session.Sessions, id string) string {
	t.Helper()
	var b strings.Builder
	for r, err := range s.Records(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(r.Payload)
	}
	for _, e := range must(s.Load(t.Context(), id, nil))(t).Items {
		b.Write(e.JSON)
	}
	meta, _ := json.Marshal(must(s.Get(t.Context(), id))(t))
	b.Write(meta)
	return b.String()
}

func sound(t testing.TB, s *session.Sessions, id string) *session.Report {
	t.Helper()
	r := must(s.Verify(t.Context(), id))(t)
	if !r.OK() {
		t.Errorf("%s: faults %+v, notices %v\nmeta    %+v\nrebuilt %+v", id, r.Faults, r.Notices, r.Meta, r.Rebuilt)
	}
	return r
}

func TestRedactMask(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		secretive(t, s, "s")
		before := must(s.Get(t.Context(), "s"))(t)
		o := session.RedactOptions{Mask: mask(t), Reason: "a word that must not stay", By: "me", DryRun: true}
		plan := must(s.Redact(t.Context(), "s", o))(t)
		if now := must(s.Get(t.Context(), "s"))(t); now != before {
			t.Fatalf("a dry run changed the session: %+v", now)
		}
		o.DryRun = false
		did := must(s.Redact(t.Context(), "s", o))(t)
		seqs := func(r *session.Redaction) (out []int64) {
			for _, e := range r.Erased {
				out = append(out, e.Record.Seq)
			}
			return out
		}
		if want := "[2 3 4 5 6 7 10 13 14]"; fmt.Sprint(seqs(did)) != want || fmt.Sprint(seqs(plan)) != want || len(did.Remaining) != 0 {
			t.Errorf("planned %v, did %v, want %s; left %+v", seqs(plan), seqs(did), want, did.Remaining)
		}
		if all := everything(t, s, "s"); strings.Contains(all, private) {
			t.Errorf("it is still there: %s", all)
		}
		m := must(s.Get(t.Context(), "s"))(t)
		if m.FirstPrompt != "the word is [erased]" || m.Title != "about [erased]" || m.MessageCount != 5 || m.Model != "m2" || m.CWD != "/src" {
			t.Errorf("meta %+v", m)
		}
		if r := sound(t, s, "s"); r.Erased != 9 || r.Items != 5 {
			t.Errorf("%d erased, %d items", r.Erased, r.Items)
		}
		got := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: "s"}))(t)
		defer got.Log.Close()
		if len(got.Notices) != 0 || len(got.State.Items) != 5 || len(got.State.OpenApprovals) != 0 {
			t.Errorf("restored with %v: %+v", got.Notices, got.State)
		}
		wantIDs(t, loaded(t, s, "s"), "p1", "a1", "r1", "a2", "p2")
		if it := must(got.State.Items[1].Decode())(t); it.Native != nil || len(it.Parts) != 1 || string(it.ToolUses()[0].Input) != `{"command":"echo [erased]"}` {
			t.Errorf("the answer is %+v", it)
		}
		if _, err := got.Log.Append(t.Context(), userDraft("p3", "it goes on")); err != nil {
			t.Fatal(err)
		}
		got.Log.Close()
		again := must(s.Redact(t.Context(), "s", o))(t)
		if len(again.Erased) != 0 || must(s.Get(t.Context(), "s"))(t).Head != m.Head+1 {
			t.Errorf("redacting again erased %v", seqs(again))
		}
		sound(t, s, "s")
	})
}

func TestRedactSeqs(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		secretive(t, s, "s")
		fork := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "fork", ItemID: "a2"}))(t)
		did := must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{4, 2}}))(t)
		var got []string
		for _, e := range did.Erased {
			got = append(got, fmt.Sprint(e.Session, e.Record.Seq))
		}
		// With what was asked and decided about the use, and the prompt that the fork's list
		// repeats.
		if fmt.Sprint(got) != "[s2 s4 s5 s6 s7 fork13]" || len(did.Remaining) != 0 {
			t.Errorf("erased %v, left %+v", got, did.Remaining)
		}
		if m := must(s.Get(t.Context(), fork))(t); m.FirstPrompt != record.Erased {
			t.Errorf("the fork's list shows %+v", m)
		}
		for _, id := range []string{"s", fork} {
			items := must(s.Load(t.Context(), id, nil))(t).Items
			wantIDs(t, itemIDs(items)[:4], "p1", "a1", "r1", "a2")
			if items[0].Text() != record.Erased || items[0].Role() != transcript.RoleUser {
				t.Errorf("%s: the prompt is %s", id, items[0].JSON)
			}
			if use := items[1].Uses()[0]; use.ID != "u1" || use.Name != "Bash" || string(use.Input) != "{}" {
				t.Errorf("%s: the use is %+v", id, use)
			}
			sound(t, s, id)
			r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: id}))(t)
			if len(r.Notices) != 0 || len(r.State.Items) != len(items) {
				t.Errorf("%s: restored %d items with %v", id, len(r.State.Items), r.Notices)
			}
			r.Log.Close()
		}
		if m := must(s.Get(t.Context(), "s"))(t); m.FirstPrompt != record.Erased || m.Title != "about "+private || m.MessageCount != 5 {
			t.Errorf("meta %+v", m)
		}
		// What stands in its place can be erased, too: the result was masked before.
		must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{10, 13}}))(t)
		items := must(s.Load(t.Context(), "s", nil))(t).Items
		if items[4].Text() != record.Erased || strings.Contains(string(items[2].JSON), "said") || items[3].Text() != "done" {
			t.Errorf("items %s %s", items[2].JSON, items[4].JSON)
		}
		if all := everything(t, s, "s"); strings.Contains(all, "said") || strings.Contains(all, "once more") {
			t.Errorf("what stood in its place is still there: %s", all)
		}
		sound(t, s, "s")
		sound(t, s, fork)
		// A fork whose parent is deleted, and with it the record that names what was erased.
		if err := s.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		sound(t, s, fork)
		r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: fork}))(t)
		defer r.Log.Close()
		if err := r.Transcript.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestRedactRewrite(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		l := newSession(t, s, "s", "a", "b", "c")
		items := must(l.Snapshot(t.Context()))(t).Items
		if err := l.Rewrite(t.Context(), session.Rewrite{Reason: "compaction", Items: []rawJSON{rawJSON(items[1].JSON), rawJSON(items[2].JSON)}}); err != nil {
			t.Fatal(err)
		}
		must(l.Append(t.Context(), userDraft("d", "text of d"), draft(t, record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "c", Messages: 2})))(t)
		l.Close()
		did := must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{3}}))(t)
		if len(did.Erased) != 2 || did.Erased[1].Record.Seq != 5 {
			t.Errorf("the copy in the rewrite was not erased: %+v", did.Erased)
		}
		got := must(s.Load(t.Context(), "s", nil))(t)
		wantIDs(t, itemIDs(got.Items), "b", "c")
		if got.Items[0].Text() != record.Erased || got.Items[1].Text() != "text of c" {
			t.Errorf("%s %s", got.Items[0].JSON, got.Items[1].JSON)
		}
		if all := everything(t, s, "s"); strings.Contains(all, "text of b") {
			t.Error(all)
		}
		// The item that a later record cuts at.
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{5}}))(t)
		wantIDs(t, loaded(t, s, "s"), "b", "c")
		sound(t, s, "s")
		r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: "s", Fork: true, ItemID: "b"}))(t)
		defer r.Log.Close()
		wantIDs(t, itemIDs(r.State.Items), "b")
		sound(t, s, r.Log.ID())
	})
}

// An open approval request must stay unchanged.
func TestRedactKeepsOpenApprovals(t *testing.T) {
	s := session.New(memory.New(), nil)
	l := newSession(t, s, "s", "a")
	asked := session.Draft{Kind: record.KindApprovalAsked, Payload: rawJSON(`{"id":"q","use_id":"u","why":"` + private + `"}`)}
	must(l.Append(t.Context(), useDraft("b", "u"), asked))(t)
	l.Close()
	did := must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
	if len(did.Erased) != 0 || len(did.Remaining) != 1 || did.Remaining[0].Record.Seq != 4 || !strings.Contains(did.Remaining[0].Reason, "open") {
		t.Errorf("%+v", did)
	}
	if all := everything(t, s, "s"); !strings.Contains(all, private) {
		t.Error(all)
	}
	sound(t, s, "s")
}

func TestRedactRefuses(t *testing.T) {
	s := session.New(memory.New(), nil)
	secretive(t, s, "s")
	fork := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "fork"}))(t)
	open := newSession(t, s, "open", "a")
	must(open.Append(t.Context(), useDraft("b", "u"), session.Draft{Kind: record.KindApprovalAsked, Payload: rawJSON(`{"id":"q","use_id":"u"}`)}))(t)
	open.Close()
	for _, tt := range []struct {
		id   string
		seq  int64
		want string
	}{
		{"s", 1, "the first record describes the session"},
		{"s", 8, "it records the progress"},
		{"s", 9, "it records the progress"},
		{"s", 12, "it records the progress"},
		{"s", 99, "there is no record with this number"},
		{"s", 0, "there is no record with this number"},
		{"s", -4, "there is no record with this number"},
		{"open", 4, "the approval request is open"},
		{"open", 3, "it is an open approval request for a tool use to be erased"},
	} {
		_, err := s.Redact(t.Context(), tt.id, session.RedactOptions{Seqs: []int64{tt.seq}})
		wantErr(t, err, session.ErrInvalid)
		if e := asError(t, err); !strings.Contains(e.Detail, tt.want) || e.Hint == "" {
			t.Errorf("%s %d: %v (hint %q), want %q", tt.id, tt.seq, err, e.Hint, tt.want)
		}
	}
	some := must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{1, 8, 9, 10, 11}, Skip: true, DryRun: true}))(t)
	if len(some.Erased) != 2 || len(some.Remaining) != 3 || some.Remaining[0].Record.Seq != 1 || some.Remaining[0].Reason == "" {
		t.Errorf("skipping: %+v", some)
	}
	_, err := s.Redact(t.Context(), "s", session.RedactOptions{})
	wantErr(t, err, session.ErrInvalid)
	_, err = s.Redact(t.Context(), "none", session.RedactOptions{Seqs: []int64{1}})
	wantErr(t, err, session.ErrNotFound)
	type plain struct{ session.Store }
	_, err = session.New(plain{s.Store()}, nil).Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2}})
	wantErr(t, err, session.ErrUnsupported)
	l := must(s.Open(t.Context(), "s", nil))(t)
	_, err = s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2}})
	wantErr(t, err, session.ErrBusy)
	l.Close()
	// A fork reaches what it shows of its parent.
	did := must(s.Redact(t.Context(), fork, session.RedactOptions{Mask: mask(t)}))(t)
	if len(did.Remaining) != 0 || len(did.Erased) != 10 || did.Erased[0].Session != fork || did.Erased[1].Session != "s" {
		t.Errorf("left %+v, erased %+v", did.Remaining, did.Erased)
	}
	for _, id := range []string{fork, "s"} {
		if all := everything(t, s, id); strings.Contains(all, private) {
			t.Errorf("%s still has it: %s", id, all)
		}
		sound(t, s, id)
	}
}

// lazy is a store in which erasing fails until it is told to work.
type lazy struct {
	*memory.Store
	works bool
}

func (l *lazy) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if !l.works {
		return errors.New("the power went")
	}
	return l.Store.Erase(ctx, id, epoch, seqs)
}

// If a crash comes between the redacted record and the erasure, the erasure is completed
// later.
func TestRedactIsFinished(t *testing.T) {
	for name, finish := range map[string]func(t *testing.T, s *session.Sessions){
		"by redacting": func(t *testing.T, s *session.Sessions) {
			must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		},
		"by restoring": func(t *testing.T, s *session.Sessions) {
			r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: "s"}))(t)
			if len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "9 records of an interrupted redaction") {
				t.Error(r.Notices)
			}
			r.Log.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &lazy{Store: memory.New()}
			s := session.New(store, nil)
			secretive(t, s, "s")
			if _, err := s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}); err == nil {
				t.Fatal("no error")
			}
			// It is read as if it were erased.
			for _, e := range must(s.Load(t.Context(), "s", nil))(t).Items {
				if strings.Contains(string(e.JSON), private) {
					t.Errorf("%s", e.JSON)
				}
			}
			if r := sound(t, s, "s"); len(r.Notices) != 1 {
				t.Errorf("notices %v", r.Notices)
			}
			store.works = true
			finish(t, s)
			if all := everything(t, s, "s"); strings.Contains(all, private) {
				t.Error(all)
			}
			if r := sound(t, s, "s"); len(r.Notices) != 0 || r.Erased != 9 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A missing payload that no record names is a fault.
func TestVerifyFindsUnrecordedErasure(t *testing.T) {
	store := memory.New()
	s := session.New(store, nil)
	l := newSession(t, s, "s", "a", "b")
	if err := store.Erase(t.Context(), "s", l.Lease().Epoch, []int64{2}); err != nil {
		t.Fatal(err)
	}
	r := must(s.Verify(t.Context(), "s"))(t)
	if len(r.Faults) != 1 || r.Faults[0].Seq != 2 || !strings.Contains(r.Faults[0].Detail, "no record shows") {
		t.Errorf("%+v", r)
	}
}
