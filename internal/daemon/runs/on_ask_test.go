package runs_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/runspec"
)

// onAsk decides about an approval request that no one can answer. A client that continues the run
// can answer.
func TestOnAsk(t *testing.T) {
	for onAsk, end := range map[string]string{"deny": wire.RunCompleted, "fail": wire.RunInterrupted} {
		t.Run(onAsk, func(t *testing.T) {
			w := begin(t, map[string]string{"writer": pushScript})
			p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{
				Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: t.TempDir(), Permissions: runspec.Permissions{Unattended: onAsk}},
			})
			w.ok(err)
			w.ok(w.runs.Start(t.Context(), p.Run, "go", "", ann))
			e := w.watch(p.Run, 0).event(end)
			w.waitEnded(p.Run)
			if ran := w.did(); len(ran) > 0 {
				t.Errorf("%v ran", ran)
			}
			if onAsk == "deny" {
				return
			}
			if !strings.Contains(e.Message, "permissions.on_ask") {
				t.Errorf("it ended with %q", e.Message)
			}
			m, err := w.sessions.Get(t.Context(), p.Run)
			w.ok(err)
			w.ok(w.runs.Continue(t.Context(), p.Run, "", "", ann))
			q := w.watch(p.Run, 0).approval()
			_, err = w.runs.Decide(t.Context(), p.Run, approval.Answer{RequestID: q.ID, Decision: approval.Allow, Actor: "ann", Via: "test"}, q.Digest)
			w.ok(err)
			w.watch(p.Run, m.Head).event(wire.RunCompleted)
			if ran := w.did(); len(ran) != 1 {
				t.Errorf("%v ran", ran)
			}
		})
	}
}
