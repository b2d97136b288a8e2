package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Every kind describes its text and how it is erased; a kind that is not in the register is
// never erased.
func TestEveryKindIsInTheRegister(t *testing.T) {
	texts := session.KindTexts()
	for _, name := range record.Kinds() {
		k := session.Kind(name)
		if of, ok := texts[k]; !ok || of.Holds == "" {
			t.Errorf("%s is not in session.KindTexts: say which of its fields hold text, and what stays", k)
		}
		delete(texts, k)
	}
	for k := range texts {
		t.Errorf("%s is no kind", k)
	}
}

// A mask reaches every kind of record, except the two that say otherwise.
func TestRedactReachesEveryKind(t *testing.T) {
	payloads := map[session.Kind]string{
		record.KindTurnOpened:       `{"turn":"t1","cwd":"/W"}`,
		record.KindTurnClosed:       `{"turn":"t1","reason":"failed","error":"W"}`,
		record.KindToolStarted:      `{"use_id":"u1","tool":"mcp__W"}`,
		record.KindToolFinished:     `{"use_id":"u1","tool":"mcp__W","ms":3,"changes":[{"path":"/W","before":"absent","after":"absent"}]}`,
		record.KindApprovalAsked:    `{"id":"q1","use_id":"u1","why":"W"}`,
		record.KindApprovalResolved: `{"id":"q1","decision":"allow","message":"W"}`,
		record.KindDecision:         `{"use_id":"u1","why":"W"}`,
		record.KindPolicyChanged:    `{"by":"W"}`,
		record.KindHookRan:          `{"event":"Stop","hooks":[{"reason":"W"}]}`,
		record.KindRewrite:          `{"reason":"truncate","notes":["W"],"cut":"p1","messages":1}`,
		record.KindMetaChanged:      `{"title":"W","summary":"W","tag":"W"}`,
		record.KindVendorMapped:     `{"vendor":"claude","session":"v1","generation":1,"reason":"W"}`,
		record.KindWorkspaceEvent:   `{"event":"vendor_ended","workspace":"w","stderr":"W"}`,
		record.KindTaskChanged:      `{"task":{"id":"1","subject":"W","description":"W","status":"pending"}}`,
		record.KindFileSaved:        `{"path":"/W","existed":false,"digest":"absent","use_id":"u1"}`,
		record.KindModelCalled:      `{"model":"W","usage":{},"for":"aside"}`,
		record.KindAccess:           `{"action":"token","by":"W","name":"W","from":"W"}`,
		record.KindRunEvent:         `{"event":"failed","status":"failed","message":"W"}`,
	}
	stays := map[session.Kind]bool{record.KindPolicyChanged: true, record.KindAccess: true}
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		l := must(s.Create(t.Context(), session.Opened{SessionID: "s", Title: private, Summary: private, Tag: private, Prompt: private}))(t)
		drafts := []session.Draft{userDraft("p1", private), useDraft("a1", "u1")}
		for _, name := range record.Kinds() {
			k := session.Kind(name)
			if p, ok := payloads[k]; ok {
				drafts = append(drafts, session.Draft{Kind: k, Payload: rawJSON(strings.ReplaceAll(p, "W", private))})
			} else if k != record.KindOpened && k != session.KindItem && k != record.KindRedacted {
				t.Errorf("no payload of %s is tried here", k)
			}
		}
		must(l.Append(t.Context(), drafts...))(t)
		l.Close()
		did := must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		for _, left := range did.Remaining {
			if !stays[left.Record.Kind] {
				t.Errorf("%s stays: %s", left.Record.Kind, left.Reason)
			}
		}
		for r, err := range s.Records(t.Context(), "s", session.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(r.Payload), private) && !stays[r.Kind] {
				t.Errorf("%s still has it: %s", r.Kind, r.Payload)
			}
		}
		if m := must(s.Get(t.Context(), "s"))(t); strings.Contains(fmt.Sprintf("%+v", m), private) {
			t.Errorf("the list shows it: %+v", m)
		}
		sound(t, s, "s")
		if _, err := s.StateAt(t.Context(), "s", 0); err != nil && !errors.Is(err, session.ErrInvalid) {
			t.Error(err)
		}
		r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: "s"}))(t)
		r.Log.Close()
	})
}

// An earlier redaction has masked what the first record of an old log says; a later one of
// something else must not bring it back into lists.
func TestRedactedTitleDoesNotReturn(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		oldSession(t, s, "s", session.Opened{Title: "about " + private, Prompt: "tell me of " + private})
		l := must(s.Open(t.Context(), "s", nil))(t)
		must(l.Append(t.Context(), userDraft("a", "one more")))(t)
		l.Close()
		did := must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		if len(did.Remaining) != 1 || did.Remaining[0].Record.Kind != record.KindOpened {
			t.Errorf("nobody was told that the first record keeps it: %+v", did.Remaining)
		}
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2}}))(t)
		if m := must(s.Get(t.Context(), "s"))(t); strings.Contains(m.Title+m.FirstPrompt, private) || m.Title != "about [erased]" {
			t.Errorf("the list shows %+v", m)
		}
		sound(t, s, "s")
	})
}

// oldSession makes a session as older versions did: its first record says what lists show.
func oldSession(t *testing.T, s *session.Sessions, id string, o session.Opened) {
	t.Helper()
	l := must(s.Create(t.Context(), session.Opened{SessionID: "made-" + id}))(t)
	l.Close()
	o.Format, o.SessionID, o.Created = record.FormatVersion, id, l.Meta().CreatedAt
	r := session.Record{Seq: 1, ID: "first-" + id, Time: o.Created, Kind: record.KindOpened, Payload: draft(t, record.KindOpened, o).Payload}
	r.Seal(session.Digest{})
	delta := must(session.Fold([]session.Record{r}))(t)
	if err := s.Store().Append(t.Context(), id, session.Batch{Records: []session.Record{r}, Delta: delta}); err != nil {
		t.Fatal(err)
	}
}

// A fork with a rewritten transcript repeats its parent's text, and so do sessions that work
// for a run, and tasks.
func TestRedactReachesRelatives(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		for _, from := range []string{"parent", "fork", "worker"} {
			s := session.New(store, nil)
			id := func(name string) string { return from + "-" + name }
			l := must(s.Create(t.Context(), session.Opened{SessionID: id("parent")}))(t)
			must(l.Append(t.Context(), userDraft("a", "one"), userDraft("b", "the "+private), useDraft("c", "u"), resultDraft("d", "u")))(t)
			l.Close()
			must(s.Fork(t.Context(), id("parent"), &session.ForkOptions{ID: id("fork")}))(t)
			fork := must(s.Open(t.Context(), id("fork"), nil))(t)
			items := must(fork.Snapshot(t.Context()))(t).Items
			if err := fork.Rewrite(t.Context(), session.Rewrite{Reason: "compaction", Items: []json.RawMessage{rawJSON(items[1].JSON)}, Messages: 1}); err != nil {
				t.Fatal(err)
			}
			fork.Close()
			w := must(s.Create(t.Context(), session.Opened{SessionID: id("worker"), Owner: id("parent"), Caller: id("parent"), Use: "u"}))(t)
			must(w.Append(t.Context(), userDraft("x", "look for "+private)))(t)
			w.Close()
			other := must(s.Create(t.Context(), session.Opened{SessionID: id("other")}))(t)
			must(other.Append(t.Context(), userDraft("y", "no relative of "+private)))(t)
			other.Close()
			did := must(s.Redact(t.Context(), id(from), session.RedactOptions{Mask: mask(t)}))(t)
			if len(did.Remaining) != 0 {
				t.Errorf("from %s: left %+v", from, did.Remaining)
			}
			for _, name := range []string{"parent", "fork", "worker"} {
				if all := everything(t, s, id(name)); strings.Contains(all, private) {
					t.Errorf("redacting %s leaves it in %s: %s", from, name, all)
				}
				sound(t, s, id(name))
			}
			if !strings.Contains(everything(t, s, id("other")), private) {
				t.Error("a session that has nothing to do with it was redacted")
			}
		}
	})
}

// Erasing a record by seq also erases what repeats it elsewhere.
func TestRedactSeqErasesTasksAndSubagents(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		l := must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
		use := transcript.Item{ID: "a1", Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse, Parts: []transcript.Part{
			transcript.ToolUse{ID: "u1", Name: "Agent", Input: rawJSON(`{"prompt":"look for ` + private + ` in there"}`)},
			transcript.ToolUse{ID: "u2", Name: "TaskCreate", Input: rawJSON(`{"subject":"water ` + private + `"}`)},
		}}
		must(l.Append(t.Context(), userDraft("p", "go"), session.ItemDraft(use.MustEncode(), false, nil),
			session.Draft{Kind: record.KindTaskChanged, Payload: rawJSON(`{"task":{"id":"1","subject":"water ` + private + `","status":"pending"}}`)},
			session.Draft{Kind: record.KindTaskChanged, Payload: rawJSON(`{"task":{"id":"2","subject":"something else","status":"pending"}}`)},
		))(t)
		l.Close()
		w := must(s.Create(t.Context(), session.Opened{SessionID: "w", Title: "looking", Owner: "s", Caller: "s", Use: "u1"}))(t)
		must(w.Append(t.Context(), userDraft("x", "look for "+private+" in there"), userDraft("y", "unrelated")))(t)
		w.Close()
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{3}}))(t)
		for _, id := range []string{"s", "w"} {
			if all := everything(t, s, id); strings.Contains(all, private) {
				t.Errorf("%s still has it: %s", id, all)
			}
			sound(t, s, id)
		}
		if now := effective(t, s, "s"); !strings.Contains(now[4], `"id":"1"`) || !strings.Contains(now[5], "something else") {
			t.Errorf("the tasks are %s and %s", now[4], now[5])
		}
		if items := must(s.Load(t.Context(), "w", nil))(t).Items; len(items) != 2 || items[1].Text() != "unrelated" {
			t.Errorf("the worker's items: %v", items)
		}
	})
}

// What forks show of a deleted parent is erased there.
func TestRedactDeletedParent(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		for _, from := range []string{"g0", "g1", "g2"} {
			s := session.New(store, nil)
			secretive(t, s, from+"g0")
			must(s.Fork(t.Context(), from+"g0", &session.ForkOptions{ID: from + "g1", ItemID: "a2"}))(t)
			must(s.Fork(t.Context(), from+"g1", &session.ForkOptions{ID: from + "g2"}))(t)
			if err := s.Delete(t.Context(), from+"g0"); err != nil {
				t.Fatal(err)
			}
			did := must(s.Redact(t.Context(), from+from, session.RedactOptions{Mask: mask(t)}))(t)
			if len(did.Remaining) != 0 || len(did.Erased) == 0 {
				t.Errorf("from %s: %+v", from, did)
			}
			must(s.Fork(t.Context(), from+"g1", &session.ForkOptions{ID: from + "g3", ItemID: "a1"}))(t)
			for _, id := range []string{from + "g1", from + "g2", from + "g3"} {
				if all := everything(t, s, id); strings.Contains(all, private) {
					t.Errorf("redacting %s leaves it in %s: %s", from, id, all)
				}
				wantIDs(t, loaded(t, s, id)[:2], "p1", "a1")
				sound(t, s, id)
			}
			for r, err := range store.Read(t.Context(), from+"g0", session.Range{}) {
				if err != nil || bytes.Contains(r.Payload, []byte(private)) {
					t.Errorf("the deleted parent keeps it: %s %v", r.Payload, err)
				}
			}
			again := must(s.Redact(t.Context(), from+from, session.RedactOptions{Mask: mask(t)}))(t)
			if len(again.Erased) != 0 {
				t.Errorf("again: %+v", again.Erased)
			}
			// By its number, from a fork.
			must(s.Redact(t.Context(), from+"g2", session.RedactOptions{Seqs: []int64{11}}))(t)
			for _, id := range []string{from + "g1", from + "g2"} {
				if all := everything(t, s, id); strings.Contains(all, `"done"`) {
					t.Errorf("record 11 stays in %s: %s", id, all)
				}
				sound(t, s, id)
			}
		}
	})
}

// A running relative is reported, and everything else is erased; redacting again does the
// rest.
func TestRedactKeepsRunningSessions(t *testing.T) {
	s := session.New(memory.New(), nil)
	secretive(t, s, "s")
	must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f"}))(t)
	l := must(s.Open(t.Context(), "f", nil))(t)
	must(l.Append(t.Context(), userDraft("mine", "say "+private)))(t)
	for _, dry := range []bool{true, false} {
		did := must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t), DryRun: dry}))(t)
		if len(did.Remaining) == 0 || did.Remaining[0].Session != "f" || !strings.Contains(did.Remaining[0].Reason, "redact again") {
			t.Errorf("dry %v: left %+v", dry, did.Remaining)
		}
	}
	l.Close()
	must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
	if all := everything(t, s, "f"); strings.Contains(all, private) {
		t.Error(all)
	}
}

// limited is a store that does so many steps of erasing and then no more, as if the
// program had been killed there.
type limited struct {
	session.Store
	steps int
	armed bool
}

var errKilled = errors.New("killed")

func (l *limited) step() error {
	if !l.armed {
		return nil
	}
	if l.steps--; l.steps < 0 {
		return errKilled
	}
	return nil
}

func (l *limited) Append(ctx context.Context, id string, b session.Batch) error {
	if err := l.step(); err != nil {
		return err
	}
	return l.Store.Append(ctx, id, b)
}

func (l *limited) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := l.step(); err != nil {
		return err
	}
	e, _ := session.As[session.Eraser](l.Store)
	return e.Erase(ctx, id, epoch, seqs)
}

func (l *limited) Unwrap() session.Store { return l.Store }

// Wherever a redaction is cut short, redacting again finishes it, in every relative.
func TestRedactFinishedAfterAnyKill(t *testing.T) {
	for steps := 0; ; steps++ {
		store := &limited{Store: memory.New(), steps: steps}
		s := session.New(store, nil)
		secretive(t, s, "g")
		must(s.Fork(t.Context(), "g", &session.ForkOptions{ID: "s"}))(t)
		must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "f"}))(t)
		if err := s.Delete(t.Context(), "g"); err != nil {
			t.Fatal(err)
		}
		w := must(s.Create(t.Context(), session.Opened{SessionID: "w", Owner: "s"}))(t)
		must(w.Append(t.Context(), userDraft("x", "look for "+private)))(t)
		w.Close()
		store.armed = true
		_, err := s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)})
		store.armed = false
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if err == nil && steps < 4 {
			t.Fatalf("only %d steps", steps)
		}
		must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		for _, id := range []string{"s", "f", "w"} {
			if all := everything(t, s, id); strings.Contains(all, private) {
				t.Fatalf("after %d steps and once more: %s has %s", steps, id, all)
			}
			sound(t, s, id)
		}
		if err == nil {
			return
		}
	}
}
