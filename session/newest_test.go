package session_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// The session to continue is one with an answer, or one that may still get one.
func TestNewest(t *testing.T) {
	s := session.New(memory.New(), nil)
	make := func(id string, drafts ...session.Draft) {
		t.Helper()
		l := must(s.Create(t.Context(), session.Opened{SessionID: id, Project: "p"}))(t)
		defer l.Close()
		if _, err := l.Append(t.Context(), drafts...); err != nil {
			t.Fatal(err)
		}
	}
	newest := func(want string) {
		t.Helper()
		if got := must(s.Newest(t.Context(), "p"))(t); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	opened := draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"})
	failed := draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t", Reason: "failed"})
	newest("")
	make("failed", opened, userDraft("u", "hi"), failed)
	newest("failed")
	make("answered", opened, userDraft("u", "hi"), useDraft("a", "c1"), failed)
	newest("answered")
	make("failed again", opened, userDraft("u", "hi"), failed)
	newest("answered")
	make("interrupted", opened, userDraft("u", "hi"), draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t", Reason: "interrupted"}))
	newest("interrupted")
	make("under way", opened, userDraft("u", "hi"), failed, opened, userDraft("v", "again"))
	newest("under way")
}
