package session_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func TestDigestText(t *testing.T) {
	d := session.Digest(sha256.Sum256([]byte("x")))
	b := must(json.Marshal(d))(t)
	var back session.Digest
	if err := json.Unmarshal(b, &back); err != nil || back != d || d.IsZero() || !(session.Digest{}).IsZero() {
		t.Fatalf("%s %v", b, err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("z", 64), strings.Repeat("0", 66)} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q passes for a digest", bad)
		}
	}
}

// TestDigestIsPinned keeps the format: logs of this version must stay verifiable.
func TestDigestIsPinned(t *testing.T) {
	r := session.Record{Seq: 2, ID: "01J", Time: time.Date(2026, 1, 2, 3, 4, 5, 6_999_999, time.UTC), Kind: record.KindTurnOpened, Payload: []byte(`{"turn":"t"}`)}
	r.Seal(session.Digest(sha256.Sum256([]byte("before"))))
	if r.Time.Nanosecond() != 6_000_000 {
		t.Error("times are cut to milliseconds")
	}
	sum := session.Digest(sha256.Sum256(fmt.Appendf(nil, "holdfast record 1\n%s\n2\n\"01J\"\n1767323045006\nturn.opened\n%s\n", session.Digest(sha256.Sum256([]byte("before"))), r.Body)))
	if r.Digest != sum {
		t.Errorf("digest %s, want %s", r.Digest, sum)
	}
}

// TestEveryFieldIsCovered changes one thing at a time.
func TestEveryFieldIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := session.Record{
			Seq: rapid.Int64Range(1, math.MaxInt64-1).Draw(t, "seq"), ID: rapid.String().Draw(t, "id"),
			Time: time.UnixMilli(rapid.Int64Range(-1e12, 1e13).Draw(t, "time")), Kind: session.Kind(rapid.SampledFrom(record.Kinds()).Draw(t, "kind")),
			Payload: []byte(`{"x":1}`),
		}
		r.Seal(session.Digest(sha256.Sum256([]byte("prev"))))
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*session.Record){
			"seq": func(r *session.Record) { r.Seq++ }, "id": func(r *session.Record) { r.ID += "\n" },
			"time": func(r *session.Record) { r.Time = r.Time.Add(time.Millisecond) }, "kind": func(r *session.Record) { r.Kind += "x" },
			"payload": func(r *session.Record) { r.Payload = []byte(`{"x":2}`) }, "prev": func(r *session.Record) { r.Prev[0] ^= 1 },
			"body": func(r *session.Record) { r.Body[31] ^= 1 }, "digest": func(r *session.Record) { r.Digest[7] ^= 1 },
		} {
			c := r
			change(&c)
			if err := c.Check(); !errors.Is(err, session.ErrCorrupt) {
				t.Fatalf("a changed %s is not noticed", name)
			}
		}
		erased := r
		erased.Payload = nil
		if err := erased.Check(); err != nil {
			t.Fatalf("an erased payload is no fault: %v", err)
		}
	})
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "sess_1-2", "Ünïcode", "日本", "a b", "a.b", "~", "%2e%2e%2fetc", strings.Repeat("x", 128), "🙂"} {
		if err := session.CheckID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{
		"", ".", "..", ".a", "-a", "a/b", `a\b`, "a..b", "a\x00", "a\nb", "a\x7f", "a\u0085", "a\u200db", "a\u202eb", "a\u2028b", "\ufeffa",
		" a", "a ", "\u00a0a", strings.Repeat("x", 129), "a\xff",
	} {
		wantErr(t, session.CheckID(id), session.ErrInvalidID)
	}
}

func FuzzCheckID(f *testing.F) {
	for _, id := range []string{"a", "", "../x", "a\x00b", "é", "\xff"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if session.CheckID(id) == nil && (id == "" || len(id) > 128 || strings.ContainsAny(id, "/\\\x00\n\r") || strings.Contains(id, "..") || id[0] == '.') {
			t.Errorf("%q is accepted", id)
		}
	})
}

func TestKinds(t *testing.T) {
	shared := 0
	for _, k := range record.Kinds() {
		if session.Kind(k).Shared() {
			shared++
		}
	}
	if len(record.Kinds()) != 21 || shared != 6 {
		t.Errorf("%d kinds, %d shared", len(record.Kinds()), shared)
	}
}

// TestFoldInParts: whatever the batches, the meta is the same.
func TestFoldInParts(t *testing.T) {
	model := session.MetaPatch{Model: new("patched")}
	ds := []session.Draft{
		openedDraft(t, "s"), userDraft("a", strings.Repeat("é", 300)), useDraft("b", "c"), draft(t, record.KindMetaChanged, model),
		resultDraft("c", "c"), useDraft("d"), draft(t, record.KindRewrite, session.Rewrite{Reason: "x", TruncateAfter: "b", Messages: 2}), userDraft("e", "e"),
		draft(t, record.KindMetaChanged, session.MetaPatch{Title: new("t")}), draft(t, record.KindMetaChanged, session.MetaPatch{Title: new("")}),
		{Kind: session.KindItem, Payload: []byte(`{"queued":true,"item":{"role":"user","parts":[]}}`)},
		draft(t, record.KindMetaChanged, model), useDraft("f"),
	}
	recs := chain(ds...)
	one := session.Meta{}.Apply(must(session.Fold(recs))(t))
	rapid.Check(t, func(t *rapid.T) {
		var m session.Meta
		for rest := recs; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			d, err := session.Fold(rest[:n])
			if err != nil {
				t.Fatal(err)
			}
			m, rest = m.Apply(d), rest[n:]
		}
		if m != one {
			t.Fatalf("in pieces\n%+v, at once\n%+v", m, one)
		}
	})
	if one.Model != "m" || one.MessageCount != 4 || one.Title != "" || len(one.FirstPrompt) > 200 || !strings.HasPrefix(one.FirstPrompt, "éé") {
		t.Errorf("%+v", one)
	}
}

func TestErrors(t *testing.T) {
	err := error(&session.Error{Op: "append", Session: "s", Seq: 7, Err: session.ErrCorrupt, Detail: "why", Hint: "do this"})
	wrapped := fmt.Errorf("outer: %w", &session.Error{Op: "open", Err: err})
	if got := wrapped.Error(); got != "outer: open: append session s at seq 7: the log is damaged: why" {
		t.Error(got)
	}
	if session.Hint(wrapped) != "do this" || session.Hint(errors.New("x")) != "" || session.Hint(nil) != "" {
		t.Error("hints are not found")
	}
	busy := &session.BusyError{Session: "s", Lease: session.Lease{Holder: session.Holder{PID: 7, Host: "h", Command: "holdfast"}}}
	if !errors.Is(busy, session.ErrBusy) || !strings.Contains(busy.Error(), "session s is open in process 7 on h (holdfast) since ") {
		t.Error(busy)
	}
}

func TestAsUnwraps(t *testing.T) {
	type plain struct{ session.Store }
	if _, ok := session.As[session.Leaser](plain{}); ok {
		t.Error("found what is hidden")
	}
	if _, ok := session.As[session.Leaser](wrapper{plain{}, &faulty{}}); !ok {
		t.Error("did not look inside")
	}
}

// wrapper is a store around another.
type wrapper struct {
	session.Store
	inner session.Store
}

func (w wrapper) Unwrap() session.Store { return w.inner }
