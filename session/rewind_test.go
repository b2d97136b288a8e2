package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

func said(id, text string) session.Draft {
	return session.Draft{Kind: session.KindItem, Payload: fmt.Appendf(nil, `{"item":{"role":"user","id":%q,"parts":[{"type":"text","text":%q}]}}`, id, text)}
}

func textsAt(s *session.State) string {
	var list []string
	for _, e := range s.Items {
		list = append(list, e.Text())
	}
	return strings.Join(list, " ")
}

func TestRewindBeforeCompaction(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		ctx := context.Background()
		l, err := s.Create(ctx, session.Opened{SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(ctx, said("a", "one"), said("b", "two"), said("c", "three")); err != nil {
			t.Fatal(err)
		}
		summary := json.RawMessage(`{"role":"user","id":"s1","parts":[{"type":"text","text":"summary"}]}`)
		if err := l.Rewrite(ctx, session.Rewrite{Reason: "compaction", By: "summarise", Items: []json.RawMessage{summary}}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(ctx, said("d", "four")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RewindTo(ctx, "s", 4, "test"); !errors.Is(err, session.ErrBusy) {
			t.Errorf("a session that runs: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		steps := []struct {
			seq     int64
			want    string
			changed bool
		}{
			{4, "one two three", true}, // before the compaction
			{4, "one two three", false},
			{3, "one two", true},       // a cut
			{6, "summary four", true},  // and forward again
			{2, "one", true},           // before all of it
			{4, "one two three", true}, // which is no prefix of it
			{7, "one two three", false},
			{8, "one two", true}, // returns are points, too
			{1, "", true},        // nothing at all
			{100, "", false},     // there is none
			{0, "", false},
			{5, "summary", true}, // right after the compaction
		}
		for i, step := range steps {
			changed, err := s.RewindTo(ctx, "s", step.seq, "test")
			if step.seq == 100 || step.seq == 0 {
				if !errors.Is(err, session.ErrInvalid) {
					t.Errorf("step %d, record %d: %v", i, step.seq, err)
				}
				continue
			}
			if err != nil || changed != step.changed {
				t.Fatalf("step %d, record %d: changed %v, %v", i, step.seq, changed, err)
			}
			loaded, err := s.Load(ctx, "s", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := textsAt(&session.State{Items: loaded.Items}); got != step.want {
				t.Fatalf("step %d, record %d: %q, want %q", i, step.seq, got, step.want)
			}
		}
		if state, err := s.StateAt(ctx, "s", 6); err != nil || textsAt(state) != "summary four" {
			t.Errorf("what was there is not readable any more: %v", err)
		}
		v, err := s.Verify(ctx, "s")
		if err != nil {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// TestRewindToErasedRecords: going back does not bring back what was redacted.
func TestRewindToErasedRecords(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		ctx := context.Background()
		l, err := s.Create(ctx, session.Opened{SessionID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(ctx, said("a", "one"), said("b", "geheim"), said("c", "three")); err != nil {
			t.Fatal(err)
		}
		if err := l.Rewrite(ctx, session.Rewrite{Reason: "truncate", TruncateAfter: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Redact(ctx, "s", session.RedactOptions{Seqs: []int64{3}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RewindTo(ctx, "s", 4, "test"); err != nil {
			t.Fatal(err)
		}
		loaded, err := s.Load(ctx, "s", nil)
		if err != nil || len(loaded.Items) != 3 || strings.Contains(textsAt(&session.State{Items: loaded.Items}), "geheim") {
			t.Errorf("%d items: %q, %v", len(loaded.Items), textsAt(&session.State{Items: loaded.Items}), err)
		}
	})
}
