package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// A watcher of a session does not see another session that has taken its id meanwhile.
func TestWatchRecreatedSession(t *testing.T) {
	s := fresh(t)
	create(t, s, session.Opened{SessionID: "s"})
	looks := 0
	for head, err := range s.Watch(t.Context(), "s", 0) {
		if looks++; looks == 1 {
			if err := s.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			a := &author{t: t, store: s, id: "s"}
			o := session.Opened{Format: 1, SessionID: "s", Created: begin.Add(time.Hour)}
			a.add(a.seal(record.KindOpened, o), a.note("x"))
			continue
		}
		if !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("head %d, %v", head, err)
		}
	}
	if looks != 2 {
		t.Errorf("%d looks", looks)
	}
}
