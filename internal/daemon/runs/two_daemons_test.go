package runs_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
)

// The session of an active run cannot be deleted. The session of an ended run can, and nothing of
// the run remains.
func TestDeletedSession(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	v.approval()
	if err := w.sessions.Delete(t.Context(), id); !errors.Is(err, session.ErrBusy) {
		t.Errorf("deleted while it runs: %v", err)
	}
	w.ok(w.runs.Stop(t.Context(), id, "", ann))
	w.ok(w.sessions.Delete(t.Context(), id))
	_, err := w.runs.Get(t.Context(), id)
	w.wantCode(err, wire.CodeRunNotFound)
	w.wantCode(w.runs.Continue(t.Context(), id, "more", "", ann), wire.CodeContinueFailed)
	w.wantCode(w.runs.Stop(t.Context(), id, "", ann), wire.CodeRunNotFound)
}

// Of two daemons on one store, one neither takes over the runs of the other nor reports them as
// interrupted. When the first has ended, the other continues them.
func TestTwoDaemons(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript, "left": pushScript, "right": pushScript})
	other := &runsEnv{t: t, store: w.store, plays: w.plays}
	other.open()
	t.Cleanup(other.stop)
	single, v := w.prepareAndStart(single(), "go")
	v.approval()
	both, v := w.prepareAndStart(w.parse(broadcastStrategy), "go")
	v.approval()
	v.approval()
	list, err := other.runs.Recover(t.Context())
	if err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, id := range []string{single, both} {
		info, err := other.runs.Get(t.Context(), id)
		w.ok(err)
		if info.Status != api.StatusRunning && info.Status != api.StatusWaiting {
			t.Errorf("%+v", info)
		}
		w.wantCode(other.runs.Continue(t.Context(), id, "", "", ann), wire.CodeContinueFailed)
		w.wantCode(other.runs.Stop(t.Context(), id, "", ann), wire.CodeRunNotFound)
	}
	w.stop()
	for _, id := range []string{single, both} {
		w.ok(other.runs.Continue(t.Context(), id, "", "", ann))
		if n := len(w.recordedEnds(id)); n != 1 {
			t.Errorf("%d ends", n)
		}
	}
}

// A run of ten megabytes works like any other.
func TestLargeRun(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	size := 10 << 20
	if testing.Short() {
		size = 1 << 20
	}
	text := make([]byte, size)
	for i := range text {
		text[i] = "abcdefg \n"[i%9]
	}
	id, v := w.prepareAndStart(single(), string(text))
	if e := v.event(wire.RunStarted); e.Input != string(text) {
		t.Errorf("%d bytes", len(e.Input))
	}
	v.event(wire.RunCompleted)
	w.waitEnded(id)
}
