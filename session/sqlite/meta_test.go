package sqlite_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The columns after any deltas are what session.Meta.Apply says.
func TestMetaColumnsFollowApply(t *testing.T) {
	s := fresh(t)
	text := rapid.SampledFrom([]string{"", "a", "b", "é\x00x", "'; --", " "})
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(-1e13, 1e13).Draw(t, "ms")).UTC()
	})
	optional := rapid.Ptr(text, true)
	patch := rapid.Custom(func(t *rapid.T) *session.MetaPatch {
		if rapid.Bool().Draw(t, "no patch") {
			return nil
		}
		return &session.MetaPatch{
			Title: optional.Draw(t, "title"), Summary: optional.Draw(t, "summary"), Tag: optional.Draw(t, "tag"), CWD: optional.Draw(t, "cwd"),
			Project: optional.Draw(t, "project"), Model: optional.Draw(t, "model"), GitBranch: optional.Draw(t, "branch"),
		}
	})
	ids := 0
	rapid.Check(t, func(rt *rapid.T) {
		ids++
		a := &author{t: t, store: s, id: session.Digest(sha256.Sum256([]byte{byte(ids), byte(ids >> 8)})).String()}
		var want session.Meta
		for i := range rapid.IntRange(1, 6).Draw(rt, "batches") {
			kind := session.Kind(record.KindMetaChanged) // appended without a lease
			if i == 0 {
				kind = record.KindOpened
			}
			b := session.Batch{Records: []session.Record{a.seal(kind, struct{}{})}}
			b.Expect = a.head - 1
			b.Delta = session.Delta{
				Messages: rapid.IntRange(0, 9).Draw(rt, "messages"), Reset: rapid.Bool().Draw(rt, "reset"),
				OpenApprovals: rapid.IntRange(-2, 3).Draw(rt, "questions"),
				Bytes:         rapid.Int64Range(0, 1<<40).Draw(rt, "bytes"), Updated: instant.Draw(rt, "updated"),
				Prompt: text.Draw(rt, "prompt"), Patch: patch.Draw(rt, "patch"), LastModel: text.Draw(rt, "model"),
				Head: a.head, Digest: a.last,
			}
			if i == 0 {
				b.Delta.Opened = &session.Opened{
					SessionID: a.id, Created: instant.Draw(rt, "created").Add(time.Duration(rapid.IntRange(0, 999_999).Draw(rt, "ns"))),
					Project: text.Draw(rt, "project"), CWD: text.Draw(rt, "cwd"), Model: text.Draw(rt, "model"),
					GitBranch: text.Draw(rt, "branch"), Title: text.Draw(rt, "title"), Summary: text.Draw(rt, "summary"),
					Tag: text.Draw(rt, "tag"), Prompt: text.Draw(rt, "first"),
				}
			}
			if err := s.Append(ctx, a.id, b); err != nil {
				rt.Fatal(err)
			}
			want = want.Apply(b.Delta)
			if got := meta(t, s, a.id); got != want {
				rt.Fatalf("after batch %d:\n got %+v\nwant %+v", i, got, want)
			}
		}
	})
}

func TestMetaZeroTime(t *testing.T) {
	s := fresh(t)
	a := &author{t: t, store: s, id: "a"}
	a.add(a.seal(record.KindOpened, session.Opened{Format: 1, SessionID: "a"}))
	if m := meta(t, s, "a"); !m.CreatedAt.IsZero() {
		t.Errorf("created %v", m.CreatedAt)
	}
}

func TestPutMeta(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	a.items(3)
	want := meta(t, s, "a")
	raw(t, s.Path(), "UPDATE sessions SET head = 2, messages = 77, title = 'damaged', updated_ms = 5")
	if err := s.PutMeta(ctx, want); err != nil {
		t.Fatal(err)
	}
	if got := meta(t, s, "a"); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	a.items(1)
	if err := s.PutMeta(ctx, want); !errors.Is(err, session.ErrConflict) {
		t.Errorf("a meta that is behind the log: %v", err)
	}
	want.ID = "b"
	if err := s.PutMeta(ctx, want); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
}
