package session_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// What runs beside calls, such as a server, is ended each time that the lease is lost, and
// whoever takes the session over waits until that has happened.
func TestWhatRunsBesideCallsEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafLeases{Store: memory.New()}
		l := newSession(t, session.New(store, nil), "s", "a")
		started := must(session.NewDraft(session.KindToolStarted, session.ToolStarted{Use: "c1", Tool: "Bash"}))(t)
		must(l.Append(t.Context(), started))(t)
		defer l.Close()
		told := make(chan error, 8)
		var ended time.Time
		l.OnLost(func(err error) {
			told <- err
			time.Sleep(5 * time.Second) // it takes that long
			ended = time.Now()
		})
		stop := l.OnLost(func(error) { t.Error("it was taken back") })
		stop()
		for range 2 {
			store.away.Store(true)
			wantErr(t, <-told, session.ErrLeaseLost)
			store.away.Store(false)
			time.Sleep(time.Minute)
		}
		r := must(session.New(store.Store, nil).Restore(t.Context(), session.RestoreOptions{SessionID: "s", Takeover: true}))(t)
		wantErr(t, <-told, session.ErrFenced)
		if now := time.Now(); ended.IsZero() || now.Sub(ended) > time.Second {
			t.Errorf("taken over at %v, what ran ended at %v", now, ended)
		}
		late := make(chan error, 1)
		l.OnLost(func(err error) { late <- err })
		wantErr(t, <-late, session.ErrFenced) // it is told even so
		if err := errors.Join(r.Log.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
}
