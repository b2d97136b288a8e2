package runs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// A run continues in the mode that was set last, whenever that was and however the daemon ended,
// not in the mode of its start.
func TestResumeKeepsMode(t *testing.T) {
	for name, s := range map[string]func(w *runsEnv) *strategy.Strategy{
		"one agent": func(*runsEnv) *strategy.Strategy { return single() },
		"several":   func(w *runsEnv) *strategy.Strategy { return w.parse(broadcastStrategy) },
	} {
		for moment, change := range map[string]bool{"prepared": false, "runs": true} {
			for _, start := range []policy.Mode{"", policy.ModeAcceptEdits} {
				t.Run(fmt.Sprintf("%s, changed when it %s, started in %q", name, moment, start), func(t *testing.T) {
					w := begin(t, map[string]string{"writer": pushScript, "left": pushScript, "right": pushScript})
					p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Strategy: s(w), Actor: ann, Spec: runspec.Spec{Cwd: t.TempDir(), Permissions: runspec.Permissions{Mode: string(start)}}})
					w.ok(err)
					set := func() {
						_, err := w.runs.Change(t.Context(), p.Run, policy.Change{Mode: policy.ModeRestricted}, ann)
						w.ok(err)
					}
					if !change {
						set()
						w.ok(w.runs.Start(t.Context(), p.Run, "go", "", ann))
						w.watch(p.Run, 0).event(wire.RunCompleted) // all calls were denied
						w.waitEnded(p.Run)
					} else {
						w.ok(w.runs.Start(t.Context(), p.Run, "go", "", ann))
						w.watch(p.Run, 0).approval()
						set()
					}
					w.restart()
					made := make(chan string, 8)
					w.making = func(_ context.Context, n runs.AgentRequest) { made <- n.Spec.Permissions.Mode }
					w.ok(w.runs.Continue(t.Context(), p.Run, "again", "", ann))
					defer func() { _ = w.runs.Stop(t.Context(), p.Run, "", ann) }()
					if m := <-made; m != "" && m != string(policy.ModeRestricted) { // "" means the mode in the log
						t.Errorf("an agent continues in mode %q", m)
					}
					m, err := w.sessions.Get(t.Context(), p.Run)
					w.ok(err)
					st, err := w.sessions.StateAt(t.Context(), p.Run, m.Head)
					w.ok(err)
					if st.Mode != string(policy.ModeRestricted) {
						t.Errorf("the log says mode %q", st.Mode)
					}
				})
			}
		}
	}
}

// A fork does not inherit the mode of the run.
func TestForkHasNoMode(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: t.TempDir(), Permissions: runspec.Permissions{Mode: string(policy.ModeRestricted)}}})
	w.ok(err)
	w.ok(w.runs.Start(t.Context(), p.Run, "go", "", ann))
	w.watch(p.Run, 0).event(wire.RunCompleted)
	w.waitEnded(p.Run)
	for _, with := range []bool{false, true} {
		id, err := w.sessions.Fork(t.Context(), p.Run, &session.ForkOptions{Grants: with})
		w.ok(err)
		w.ok(w.runs.Continue(t.Context(), id, "again", "", ann))
		w.waitEnded(id)
		m, err := w.sessions.Get(t.Context(), id)
		w.ok(err)
		st, err := w.sessions.StateAt(t.Context(), id, m.Head)
		w.ok(err)
		info, err := w.runs.Get(t.Context(), id)
		w.ok(err)
		if (st.Mode == string(policy.ModeRestricted)) != with || info.Mode != "" {
			t.Errorf("with grants %v: the log says mode %q, and the run %q", with, st.Mode, info.Mode)
		}
	}
}
