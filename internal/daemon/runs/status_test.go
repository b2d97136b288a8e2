package runs_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// statusOf returns the status of a run as a list of sessions shows it.
func (w *runsEnv) statusOf(in *runs.Runs, id string) runs.RunStatus {
	w.t.Helper()
	m, err := w.sessions.Get(w.t.Context(), id)
	w.ok(err)
	asking, err := w.sessions.OpenApprovals(w.t.Context())
	w.ok(err)
	s, err := in.StatusOf(w.t.Context(), m, asking)
	w.ok(err)
	return s
}

// A run is waiting while one of its agents waits for approval or for input, also as seen by another
// daemon. A run whose daemon has ended is never waiting.
func TestStatusOf(t *testing.T) {
	for name, s := range map[string]*strategy.Strategy{"a sub-agent asks": single(), "an agent of several asks": parseStrategy(t, broadcastStrategy)} {
		t.Run(name, func(t *testing.T) {
			w := beginWithSubagents(t, delegateScript, pushScript)
			id, v := w.prepareAndStart(s, "go")
			asked := []approval.Request{v.approval()}
			if s.Name == "both" {
				asked = append(asked, v.approval())
			}
			want := runs.RunStatus{Status: api.StatusWaiting, Approvals: len(asked)}
			other, err := runs.New(&runs.Options{Sessions: w.sessions, Hub: w.hub, Make: w.make})
			w.ok(err)
			defer func() { w.ok(other.Close()) }()
			for _, in := range []*runs.Runs{w.runs, other} {
				if got := w.statusOf(in, id); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
				if info, err := in.Get(t.Context(), id); err != nil || info.Status != api.StatusWaiting || info.Approvals != len(asked) {
					t.Errorf("%+v, %v", info, err)
				}
			}
			w.restart()
			want.Status = api.StatusInterrupted
			if got := w.statusOf(w.runs, id); got != want {
				t.Errorf("after the daemon ended: %+v, want %+v", got, want)
			}
			w.ok(w.runs.Stop(t.Context(), id, "", ann))
			if got := w.statusOf(w.runs, id); got != (runs.RunStatus{Status: api.StatusCancelled}) {
				t.Errorf("stopped: %+v", got)
			}
		})
	}
	t.Run("a request for input", func(t *testing.T) {
		w := begin(t, map[string]string{"writer": "steps: [{text: a draft}]", "checker": "steps: [{text: ok}]"})
		id, v := w.prepareAndStart(w.parse(reviewStrategy), "go")
		v.event(wire.RunInputAsked)
		if got := w.statusOf(w.runs, id); got != (runs.RunStatus{Status: api.StatusWaiting}) {
			t.Errorf("%+v", got)
		}
		w.ok(w.runs.Input(t.Context(), id, "person", "", "yes", ann))
		v.event(wire.RunCompleted)
		w.waitEnded(id)
		if got := w.statusOf(w.runs, id); got != (runs.RunStatus{Status: api.StatusCompleted}) {
			t.Errorf("%+v", got)
		}
	})
}
