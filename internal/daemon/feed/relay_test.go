package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func relayed(t testing.TB, id string, from, to int64) session.Draft {
	t.Helper()
	return runEvent(t, relayedRange{Event: "relayed", Agent: "writer", Session: id, From: from, To: to})
}

// parts reads an event and returns the seqs of its records.
func (h *hubEnv) parts(s *Subscription, seq int64) []int64 {
	h.Helper()
	e, err := s.Next(context.Background())
	if err != nil || e.Kind != Durable || e.Seq != seq {
		h.Fatalf("got %s, want event %d", describe(e, err), seq)
	}
	var seqs []int64
	for _, r := range e.Records {
		if r.Session != "s" && r.Agent != "writer" {
			h.Errorf("record %d of %s is of agent %q", r.Seq, r.Session, r.Agent)
		}
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

func TestRelay(t *testing.T) {
	h := open(t, nil)
	writer := h.create("s.writer")
	live := h.subscribe(FromEnd)
	h.expect(live, "caught_up@1")
	h.add(writer, item(1), item(2))
	h.add(h.log, relayed(t, "s.writer", 1, 3))
	h.add(writer, item(3))
	h.add(h.log, item(9), relayed(t, "s.writer", 4, 4))
	replay := h.subscribe(1)
	for _, s := range []*Subscription{live, replay} {
		if got := h.parts(s, 2); len(got) != 3 || got[0] != 1 || got[2] != 3 {
			t.Errorf("the first relay has the records %v", got)
		}
		if got := h.parts(s, 3); len(got) != 1 || got[0] != 3 {
			t.Errorf("the record between has the records %v", got)
		}
		if got := h.parts(s, 4); len(got) != 1 || got[0] != 4 {
			t.Errorf("the second relay has the records %v", got)
		}
	}
}

func TestUnwrap(t *testing.T) {
	h := open(t, nil)
	writer := h.create("w")
	h.add(writer, item(1))
	recs := h.add(h.log, item(1), relayed(t, "w", 1, 2))
	for i, want := range []int{1, 2} {
		e, err := Unwrap(t.Context(), h.sessions, "s", recs[i])
		if err != nil || e.Seq != recs[i].Seq || len(e.Records) != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := Unwrap(ctx, h.sessions, "s", recs[1]); err == nil {
		t.Errorf("%+v", e)
	}
}

// A relay of deleted or missing records is an event without records.
func TestRelayOfDeletedRecords(t *testing.T) {
	store := &failingStore{Store: memory.New()}
	h := openOn(t, store, nil)
	writer := h.create("w")
	h.add(writer, item(1), item(2))
	store.set(func(id string, seq int64) error {
		if id == "w" && seq == 2 {
			return &session.Error{Op: "read", Session: id, Seq: seq, Err: session.ErrCorrupt}
		}
		return nil
	})
	live := h.subscribe(FromEnd)
	h.expect(live, "caught_up@1")
	h.add(
		h.log, relayed(t, "nobody", 1, 2), relayed(t, "../x", 1, 1), relayed(t, "w", 3, 2), relayed(t, "w", 0, 2),
		relayed(t, "w", -5, 1<<62), relayed(t, "w", 1, 3), relayed(t, "w", 50, 60),
		session.Draft{Kind: record.KindRunEvent, Payload: json.RawMessage(`{"event":"relayed","from":"x"}`)},
	)
	for _, s := range []*Subscription{live, h.subscribe(1)} {
		for seq := int64(2); seq <= 9; seq++ {
			switch got := h.parts(s, seq); {
			case seq == 7 && len(got) != 2:
				t.Errorf("a relay with a damaged record has the records %v", got)
			case seq == 9 && len(got) != 1:
				t.Errorf("an event without a relay has the records %v", got)
			case seq < 7 && len(got) != 0, seq == 8 && len(got) != 0:
				t.Errorf("relay %d has the records %v", seq, got)
			}
		}
	}
}

// A transient error of the store does not empty a relay.
func TestRelayAfterTransientError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failingStore{Store: memory.New()}
		h := openOn(t, store, nil)
		writer := h.create("w")
		h.add(writer, item(1))
		s := h.subscribe(FromEnd)
		h.expect(s, "caught_up@1")
		store.set(func(id string, _ int64) error {
			if id == "w" {
				return errors.New("not now")
			}
			return nil
		})
		h.add(h.log, relayed(t, "w", 1, 2))
		h.expectNothing(s)
		store.set(func(string, int64) error { return nil })
		if got := h.parts(s, 2); len(got) != 2 {
			t.Errorf("the relay has the records %v", got)
		}
	})
}

// Erased payloads are not sent from memory.
func TestErasedRecords(t *testing.T) {
	for _, id := range []string{"s", "w"} {
		t.Run(id, func(t *testing.T) {
			h := open(t, nil)
			logs := map[string]*session.Log{"s": h.log, "w": h.create("w")}
			s := h.subscribe(FromEnd)
			h.expect(s, "caught_up@1")
			h.add(logs["s"], item(1))
			h.add(logs["w"], item(1))
			h.add(logs["s"], relayed(t, "w", 2, 2))
			if got := h.parts(h.subscribe(2), 3); len(got) != 1 {
				t.Fatalf("the relay has the records %v", got)
			}
			logs[id].Close()
			if _, err := h.sessions.Redact(t.Context(), id, session.RedactOptions{Seqs: []int64{2}}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				e, err := s.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range e.Records {
					if r.Session == id && !bytes.Contains(r.Payload, []byte(record.Erased)) {
						t.Errorf("record %d of %s is %s", r.Seq, r.Session, r.Payload)
					}
				}
			}
		})
	}
}
