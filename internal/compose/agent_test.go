package compose

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Whoever wants to know is told how large the session is that the agent goes on with.
func TestLoading(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	sessions := session.New(memory.New(), nil)
	project, err := projectOf(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, err := sessions.Create(ctx, session.Opened{SessionID: "there", Project: project})
	if err != nil {
		t.Fatal(err)
	}
	item := transcript.UserText("hello")
	item.ID = "1"
	if _, err := log.Append(ctx, session.ItemDraft(item.MustEncode(), false, nil)); err != nil {
		t.Fatal(err)
	}
	size := log.Meta().Size
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		spec runspec.Session
		want int64
	}{
		{"a new one", runspec.Session{}, -1},
		{"a new one with an id", runspec.Session{ID: "new"}, -1},
		{"one that is there", runspec.Session{ID: "there"}, size},
		{"resumed", runspec.Session{Resume: "there"}, size},
		{"a fork", runspec.Session{Resume: "there", Fork: true}, size},
		{"continued", runspec.Session{Continue: true}, size},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := int64(-1)
			r := &Request{Loading: func(n int64) { got = n }}
			o, err := Choose(ctx, sessions, &c.spec, dir, nil)
			if err == nil {
				err = r.reportLoading(ctx, sessions, &o)
			}
			if err != nil || got != c.want {
				t.Errorf("%d bytes, want %d: %v", got, c.want, err)
			}
			if err := (&Request{}).reportLoading(ctx, sessions, &o); err != nil {
				t.Error("nobody wants to know:", err)
			}
		})
	}
	if _, err := Choose(ctx, sessions, &runspec.Session{Resume: "none"}, dir, nil); !errors.Is(err, session.ErrNotFound) && outcome.FromError(err) != outcome.NotFound {
		t.Error(err)
	}
}
