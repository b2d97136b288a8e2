package audit_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func TestReadReportsDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*session.Record) error
		seqs   []int64
	}{
		{"a changed payload", func(r *session.Record) error {
			if r.Seq == 3 {
				r.Payload = []byte(`{"use_id":"b"}`)
			}
			return nil
		}, []int64{3}},
		{"a record that follows another", func(r *session.Record) error {
			if r.Seq == 3 {
				r.Seal(session.Digest(sha256.Sum256([]byte("x"))))
			}
			return nil
		}, []int64{3}},
		{"a payload that is something else", func(r *session.Record) error {
			if r.Seq >= 2 {
				if r.Seq == 2 {
					r.Payload = []byte(`{"digests":7}`)
				}
				prev := r.Prev
				if r.Seq > 2 {
					prev = forged[r.Seq-1]
				}
				r.Seal(prev)
				forged[r.Seq] = r.Digest
			}
			return nil
		}, []int64{2}},
		{"one that cannot be read", func(r *session.Record) error {
			if r.Seq == 2 {
				return &session.Error{Op: "read", Seq: 2, Err: session.ErrCorrupt}
			}
			return nil
		}, []int64{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, store := newSessions(t)
			log(t, s, "s", decide("a", "Bash", "mode auto", policy.Allow, nil), decide("b", "Read", "nobody", policy.Deny, nil), decide("c", "Read", "nobody", policy.Deny, nil))
			store.change = c.change
			var bad, good []int64
			for e, err := range audit.Read(t.Context(), s, "s", nil) {
				if err == nil {
					good = append(good, e.Seq)
					continue
				}
				se, ok := errors.AsType[*session.Error](err)
				if !ok || !errors.Is(err, session.ErrCorrupt) {
					t.Fatal(err)
				}
				bad = append(bad, se.Seq)
			}
			if len(bad) == 0 || bad[0] != c.seqs[0] || len(bad)+len(good) != 4 {
				t.Errorf("bad %v, good %v", bad, good)
			}
		})
	}
}

var forged = map[int64]session.Digest{}

func TestReadEmptyRange(t *testing.T) {
	s, _ := newSessions(t)
	for _, err := range audit.Read(t.Context(), s, "s", nil) {
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
	log(t, s, "s")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var last error
	for _, err := range audit.Read(ctx, s, "s", nil) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a cancelled read ends with %v", last)
	}
}
