package runs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// addSubagents adds sub-agents of the kind scout to an agent, which follow the scripts of the
// fixture.
func (w *runsEnv) addSubagents(o *agent.Options) error {
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: []agent.Definition{{Name: "scout", Description: "looks", Prompt: "You look.", Model: "scout"}},
		Model: func(name string) (model.Model, error) {
			return scripted.New([]byte(w.plays[name]), nil)
		},
	})
	if err != nil {
		return err
	}
	o.Subagents, o.Background = subs, &agent.Background{}
	followUp, err := o.Background.Tools()
	if err != nil {
		return err
	}
	o.Tools, err = tool.NewRegistry(slices.Concat(o.Tools.Tools(), []tool.Tool{subs.Tool()}, followUp)...)
	return err
}

const (
	delegateScript = `
steps:
  - tool_uses: [{id: d1, tool: Agent, input: {description: push it, prompt: push, subagent_type: scout}}]
  - text: "it says: {{last_result}}"
  - text: again
`
	backgroundScript = `
steps:
  - tool_uses: [{id: d1, tool: Agent, input: {description: push it, prompt: push, subagent_type: scout, run_in_background: true}}]
  - text: I wait.
  - text: it came back
`
)

func beginWithSubagents(t *testing.T, parent, scout string) *runsEnv {
	w := begin(t, map[string]string{"writer": parent, "scout": scout, "left": parent, "right": pushScript})
	w.subagents = true
	return w
}

// scouts returns the sessions of a run's sub-agents.
func (w *runsEnv) scouts(id string) []session.Meta {
	w.t.Helper()
	page, err := w.sessions.List(w.t.Context(), session.Query{Owner: id, Worktrees: true})
	w.ok(err)
	return slices.DeleteFunc(page.Sessions, func(m session.Meta) bool { return strings.HasPrefix(m.ID, id+".") })
}

// received returns the seqs of a session's records that a watcher received, and the agent names.
func (v *watcher) received(id string) (seqs []int64, names []string) {
	for _, r := range v.all {
		if r.Session != id {
			continue
		}
		seqs = append(seqs, r.Seq)
		if !slices.Contains(names, r.Agent) {
			names = append(names, r.Agent)
		}
	}
	return seqs, names
}

// checkComplete checks that a watcher received every record of a session once, in order.
func (v *watcher) checkComplete(m session.Meta, name string) {
	v.w.t.Helper()
	seqs, names := v.received(m.ID)
	want := []int64{}
	for i := range m.Head {
		want = append(want, i+1)
	}
	if !slices.Equal(seqs, want) || !slices.Equal(names, []string{name}) {
		v.w.t.Errorf("session %s has %d records, but %v arrived, with the names %q", m.ID, m.Head, seqs, names)
	}
}

// An approval request of a sub-agent is one of the run, however it is answered, and its records are
// relayed to the run's log.
func TestSubagentApproval(t *testing.T) {
	for name, parent := range map[string]string{"foreground": delegateScript, "background": backgroundScript} {
		for _, byRun := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by run %v", name, byRun), func(t *testing.T) {
				w := beginWithSubagents(t, parent, pushScript)
				id, v := w.prepareAndStart(single(), "go")
				q := v.approval()
				if q.Agent != "scout" || q.Session != id || q.Asker != w.scouts(id)[0].ID {
					t.Errorf("question %+v", q)
				}
				info, err := w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Status != api.StatusWaiting || info.Approvals != 1 {
					t.Errorf("waiting: %+v", info)
				}
				run := ""
				if byRun {
					run = id
				}
				won, err := w.runs.Decide(t.Context(), run, decision(q, approval.Allow), q.Digest)
				if err != nil || won.Actor != "ann" {
					t.Fatalf("%+v, %v", won, err)
				}
				if a := v.answer(); a.Asker != q.Asker || a.Agent != "scout" {
					t.Errorf("the answer does not name the sub-agent: %+v", a)
				}
				v.event(wire.RunCompleted)
				w.waitEnded(id)
				if got := w.did(); !slices.Equal(got, []string{"git push"}) {
					t.Errorf("ran %v", got)
				}
				scouts := w.scouts(id)
				if len(scouts) != 1 {
					t.Fatalf("%d sub-agents", len(scouts))
				}
				v.checkComplete(scouts[0], "scout")
				info, err = w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Status != api.StatusCompleted || info.Approvals != 0 {
					t.Errorf("completed: %+v", info)
				}
			})
		}
	}
}

// An agent of a strategy with several agents can have sub-agents, too.
func TestSubagentOfStrategyAgent(t *testing.T) {
	w := beginWithSubagents(t, delegateScript, pushScript)
	id, v := w.prepareAndStart(w.parse(broadcastStrategy), "go")
	for range 2 {
		q := v.approval()
		_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
		w.ok(err)
	}
	v.event(wire.RunCompleted)
	w.waitEnded(id)
	scouts := w.scouts(id)
	if len(scouts) != 1 {
		t.Fatalf("%d sub-agents", len(scouts))
	}
	v.checkComplete(scouts[0], "scout")
}

// Stopping a run ends its sub-agents, whether they wait or work.
func TestStopSubagent(t *testing.T) {
	working := `steps: [{tool_uses: [{id: u1, tool: Bash, input: {command: wait}}]}, {text: never}]`
	for name, parent := range map[string]string{"foreground": delegateScript, "background": backgroundScript} {
		for _, answered := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, works %v", name, answered), func(t *testing.T) {
				w := beginWithSubagents(t, parent, working)
				began := make(chan struct{})
				w.during = func(string) { close(began) }
				id, v := w.prepareAndStart(single(), "go")
				q := v.approval()
				if answered {
					_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
					w.ok(err)
					<-began
				}
				w.ok(w.runs.Stop(t.Context(), id, "", ann))
				v.event(wire.RunCancelled)
				scout := w.scouts(id)[0]
				if scout.OpenApprovals != 0 {
					t.Errorf("it still waits for approval: %+v", scout)
				}
				held, err := w.sessions.Lease(t.Context(), scout.ID)
				w.ok(err)
				if held != nil {
					t.Errorf("held by %v", held)
				}
				v.checkComplete(scout, "scout")
				w.ok(w.sessions.Delete(t.Context(), scout.ID))
			})
		}
	}
}

// A user can steer and stop one sub-agent. The run continues, its agent reads what happened, and it
// is recorded who did it.
func TestSubagentIsSteeredAndStopped(t *testing.T) {
	w := beginWithSubagents(t, delegateScript, `steps: [{tool_uses: [{id: u1, tool: Bash, input: {command: wait}}]}, {text: never}]`)
	began := make(chan struct{})
	w.during = func(string) { close(began) }
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	scout := w.scouts(id)[0].ID
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*runs.Error](err); !ok || e.Code != wire.CodeConflict || e.Tip == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	steer := func(session string) error {
		return w.runs.SteerSubagent(t.Context(), id, session, "look there", "", ann)
	}
	refused("it waits for an approval", steer(scout))
	refused("no such sub-agent", steer("nobody"))
	_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	<-began
	w.ok(steer(scout))
	w.ok(w.runs.StopSubagent(t.Context(), id, scout, "", ann))
	steered, stopped := v.event(wire.RunSubagentSteered), v.event(wire.RunSubagentStopped)
	for _, e := range []wire.RunEvent{steered, stopped} {
		if e.By != "ann" || e.Session != scout || e.Agent != "scout" {
			t.Errorf("recorded: %+v", e)
		}
	}
	if steered.Text != "look there" {
		t.Errorf("recorded text %q", steered.Text)
	}
	if end := v.event(wire.RunCompleted); !strings.Contains(end.Text, "it says: The user stopped the sub-agent.") {
		t.Errorf("the parent says %q", end.Text)
	}
	w.waitEnded(id)
	items := 0
	for r, err := range w.sessions.Records(t.Context(), scout, session.Range{}) {
		w.ok(err)
		if r.Kind == session.KindItem && strings.Contains(string(r.Payload), "<user_steering>\\nlook there\\n</user_steering>") && !strings.Contains(string(r.Payload), `"queued":true`) {
			items++
		}
	}
	if items != 1 {
		t.Errorf("the sub-agent read the text %d times", items)
	}
	for _, err := range []error{steer(scout), w.runs.StopSubagent(t.Context(), id, scout, "", ann)} {
		if e, ok := errors.AsType[*runs.Error](err); !ok || e.Code != wire.CodeRunNotSteerable {
			t.Errorf("the run has ended: %v", err)
		}
	}
}

// If a daemon ends while a sub-agent waits for approval, the request stays open until the run is
// continued. The resumed sub-agent gets the earlier answer or asks again.
func TestRestartWhileSubagentWaits(t *testing.T) {
	for name, parent := range map[string]string{"foreground": delegateScript, "background": backgroundScript} {
		for _, when := range []string{"before", "after", "never", "stopped"} {
			t.Run(name+", answered "+when, func(t *testing.T) {
				w := beginWithSubagents(t, parent, pushScript)
				id, v := w.prepareAndStart(single(), "go")
				q := v.approval()
				w.restart()
				info, err := w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Status != api.StatusInterrupted || info.Approvals != 1 {
					t.Errorf("interrupted: %+v", info)
				}
				allow := func() {
					t.Helper()
					_, err := w.runs.Decide(t.Context(), "", decision(q, approval.Allow), q.Digest)
					w.ok(err)
				}
				v = w.watch(id, 0)
				end, ran := wire.RunCompleted, []string{"git push"}
				switch when {
				case "before", "after":
					w.plays["writer"] = resumeScript(parent, w.scouts(id)[0].ID)
				case "never":
					ran = []string{}
				case "stopped":
					end, ran = wire.RunCancelled, []string{}
				}
				if when == "before" {
					allow()
				}
				if when == "stopped" {
					w.ok(w.runs.Stop(t.Context(), id, "", ann))
				} else {
					w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
				}
				if when == "after" { // it asks again
					old := q
					for q.ID == old.ID {
						q = v.approval()
					}
					allow()
				}
				v.event(end)
				if when == "stopped" {
					v.answer()
				}
				w.waitEnded(id)
				if got := w.did(); !slices.Equal(got, ran) {
					t.Errorf("ran %v", got)
				}
				info, err = w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Approvals != 0 {
					t.Errorf("ended: %+v", info)
				}
				v.takeRest()
				v.checkComplete(w.scouts(id)[0], "scout")
			})
		}
	}
}

// resumeScript is a script that resumes a sub-agent after the steps it has already performed.
func resumeScript(play, scout string) string {
	step := "  - tool_uses: [{id: d2, tool: Agent, input: {description: go on, prompt: go on, resume: " + scout + "}}]\n"
	at := strings.Index(play, "  - text:")
	if play == backgroundScript {
		at = strings.Index(play, "  - text: it came back")
	}
	return play[:at] + step + play[at:]
}

// takeRest also takes the remaining records of the last event.
func (v *watcher) takeRest() { v.all, v.rest = append(v.all, v.rest...), nil }

// delayedEndStore is a store that delays the end of a suspended run until it is released.
type delayedEndStore struct {
	session.Store
	at, proceed chan struct{}
	once        sync.Once // a concurrent answer causes a retry
}

func (h *delayedEndStore) Append(ctx context.Context, id string, b session.Batch) error {
	for _, r := range b.Records {
		if r.Kind == record.KindRunEvent && strings.Contains(string(r.Payload), `"event":"`+wire.RunInterrupted) {
			h.once.Do(func() { close(h.at) })
			<-h.proceed
		}
	}
	return h.Store.Append(ctx, id, b)
}

func (h *delayedEndStore) Unwrap() session.Store { return h.Store }

// An answer to a sub-agent that arrives after the run closed its agents and before its end is
// relayed to the run's subscribers.
func TestSubagentAnswerWhileRunEnds(t *testing.T) {
	w := beginWithSubagents(t, delegateScript, pushScript)
	w.stop()
	h := &delayedEndStore{Store: w.store, at: make(chan struct{}), proceed: make(chan struct{})}
	w.store = h
	w.open()
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	closed := make(chan error, 1)
	go func() { closed <- w.runs.Close() }()
	<-h.at
	decided := make(chan error, 1)
	go func() {
		_, err := w.runs.Decide(t.Context(), "", decision(q, approval.Deny), q.Digest)
		decided <- err
	}()
	w.watch(q.Session, 0).answer() // it is recorded
	close(h.proceed)
	w.ok(<-decided)
	w.ok(<-closed)
	if a := v.answer(); a.RequestID != q.ID || a.Decision != approval.Deny {
		t.Errorf("%+v", a)
	}
	if got := w.recordedEnds(id); !slices.Equal(got, []api.RunStatus{api.StatusInterrupted}) {
		t.Errorf("ends %v", got)
	}
}
