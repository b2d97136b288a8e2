package runs_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// fullStore rejects appends while it is full.
type fullStore struct {
	session.Store
	full  atomic.Bool
	tried atomic.Int64 // appends while it was full
}

func (s *fullStore) Unwrap() session.Store { return s.Store }

func (s *fullStore) Append(ctx context.Context, id string, b session.Batch) error {
	if s.full.Load() {
		s.tried.Add(1)
		return &session.Error{Op: "append", Session: id, Err: session.ErrFull}
	}
	return s.Store.Append(ctx, id, b)
}

// An answer that cannot be recorded because the store is full is rejected, and the run keeps
// waiting. When the store has space again, the answer is accepted and the call runs once.
func TestStoreFull(t *testing.T) {
	for name, strategy := range map[string]string{"one": "", "side by side": broadcastStrategy} {
		t.Run(name, func(t *testing.T) {
			inner, err := sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			store := &fullStore{Store: inner}
			w := &runsEnv{t: t, store: store, plays: map[string]string{"writer": pushScript, "left": pushScript, "right": pushScript}}
			w.open()
			t.Cleanup(func() {
				w.stop()
				w.ok(inner.Close())
			})
			s, agents := single(), 1
			if strategy != "" {
				s, agents = w.parse(strategy), 2
			}
			id, v := w.prepareAndStart(s, "go")
			q := v.approval()
			if agents == 2 {
				v.approval()
			}
			store.full.Store(true)
			if _, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest); !errors.Is(err, session.ErrFull) {
				t.Errorf("decided: %v", err)
			}
			if n := store.tried.Load(); n > 40 {
				t.Errorf("%d appends were tried", n)
			}
			info, err := w.runs.Get(t.Context(), id)
			w.ok(err)
			if info.Status != api.StatusWaiting || len(w.did()) != 0 {
				t.Errorf("%+v, ran %v", info, w.did())
			}
			store.full.Store(false)
			for range agents {
				open := w.nextApproval(id)
				_, err := w.runs.Decide(t.Context(), id, decision(open, approval.Allow), open.Digest)
				w.ok(err)
			}
			w.watch(id, 0).event(wire.RunCompleted)
			if got := w.did(); len(got) != agents || !slices.Equal(w.recordedEnds(id), []api.RunStatus{api.StatusCompleted}) {
				t.Errorf("ran %v, ends %v", got, w.recordedEnds(id))
			}
		})
	}
}

// nextApproval returns an open approval request of a run or of its agents' sessions.
func (w *runsEnv) nextApproval(run string) approval.Request {
	w.t.Helper()
	for {
		w.ok(w.t.Context().Err())
		for _, id := range []string{run, run + ".left", run + ".right"} {
			open, err := approval.Pending(w.t.Context(), w.sessions, id)
			if err == nil && len(open) > 0 {
				return open[0]
			}
		}
	}
}

// If the end of a run could not be recorded because the store was full for too long, the reason is
// shown to clients, and recorded when the run is continued.
func TestStoreFullForTooLong(t *testing.T) {
	inner, err := sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	store := &fullStore{Store: inner}
	w := &runsEnv{t: t, store: store, plays: map[string]string{"writer": pushScript}}
	w.during = func(string) { store.full.Store(true) }
	w.open()
	t.Cleanup(func() {
		w.stop()
		w.ok(inner.Close())
	})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	_, err = w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
	w.ok(err)
	for w.runs.Active() > 0 {
		w.ok(t.Context().Err())
	}
	store.full.Store(false)
	const why = "the store was unreachable for too long: "
	info, err := w.runs.Get(t.Context(), id)
	w.ok(err)
	if info.Status != api.StatusInterrupted || info.Error == nil || !strings.HasPrefix(info.Error.Message, why) {
		t.Errorf("%+v %+v", info, info.Error)
	}
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	end := w.watch(id, 0).event(wire.RunInterrupted)
	if !strings.HasPrefix(end.Message, why) {
		t.Errorf("the record has %+v", end)
	}
}
