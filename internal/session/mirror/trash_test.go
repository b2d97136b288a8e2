package mirror_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/mirror"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// gated is a store that cannot be reached while it is shut.
type gated struct {
	session.Store
	shut atomic.Bool
}

func (g *gated) Unwrap() session.Store { return g.Store }

func (g *gated) List(ctx context.Context, q session.Query) (session.Page, error) {
	if g.shut.Load() {
		return session.Page{}, errors.New("it cannot be reached")
	}
	return g.Store.List(ctx, q)
}

// An erasure reaches the secondary though the session is in the trash by then.
func TestErasedThenTrashed(t *testing.T) {
	a, b := memory.New(), &gated{Store: memory.New()}
	m, err := mirror.New(a, b, &mirror.Options{Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(m, nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	it := transcript.UserText("hello")
	it.ID = "i1"
	d := session.ItemDraft(it.MustEncode(), false, nil)
	if _, err := l.Append(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.shut.Store(true)
	if _, err := s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Trash(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	b.shut.Store(false)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := m.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if st := m.Status(); st.Pending != 0 || st.Err != nil {
		t.Errorf("%+v", st)
	}
	for r, err := range b.Read(t.Context(), "s", session.Range{After: 1, Until: 2}) {
		if err != nil || r.Payload != nil {
			t.Errorf("%s %v", r.Payload, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
