package runs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// helped gives an agent sub-agents of the kind scout, who play what the world says.
func (w *runsEnv) helped(o *agent.Options) error {
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
	looksAfter, err := o.Background.Tools()
	if err != nil {
		return err
	}
	o.Tools, err = tool.NewRegistry(slices.Concat(o.Tools.Tools(), []tool.Tool{subs.Tool()}, looksAfter)...)
	return err
}

const (
	delegating = `
steps:
  - tool_uses: [{id: d1, tool: Agent, input: {description: push it, prompt: push, subagent_type: scout}}]
  - text: "it says: {{last_result}}"
  - text: again
`
	behind = `
steps:
  - tool_uses: [{id: d1, tool: Agent, input: {description: push it, prompt: push, subagent_type: scout, run_in_background: true}}]
  - text: I wait.
  - text: it came back
`
)

func helping(t *testing.T, parent, scout string) *runsEnv {
	w := begin(t, map[string]string{"writer": parent, "scout": scout, "left": parent, "right": pushing})
	w.helpers = true
	return w
}

// scouts are the sessions of a run's sub-agents.
func (w *runsEnv) scouts(id string) []session.Meta {
	w.t.Helper()
	page, err := w.sessions.List(w.t.Context(), session.Query{Owner: id, Worktrees: true})
	w.ok(err)
	return slices.DeleteFunc(page.Sessions, func(m session.Meta) bool { return strings.HasPrefix(m.ID, id+".") })
}

// told are the numbers of the records of a session that a watcher was told, and under
// whose name.
func (v *watcher) told(id string) (seqs []int64, names []string) {
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

// whole checks that a watcher was told every record of a session once, in order.
func (v *watcher) whole(m session.Meta, name string) {
	v.w.t.Helper()
	seqs, names := v.told(m.ID)
	want := []int64{}
	for i := range m.Head {
		want = append(want, i+1)
	}
	if !slices.Equal(seqs, want) || !slices.Equal(names, []string{name}) {
		v.w.t.Errorf("of %s, which has %d records, %v came, as of %q", m.ID, m.Head, seqs, names)
	}
}

// What a sub-agent asks is a question of the run, whoever answers it and however, and
// its records stand in the run's log.
func TestSubagentAsks(t *testing.T) {
	for name, parent := range map[string]string{"foreground": delegating, "background": behind} {
		for _, byRun := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by run %v", name, byRun), func(t *testing.T) {
				w := helping(t, parent, pushing)
				id, v := w.begun(single(), "go")
				q := v.question()
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
					t.Errorf("it does not say whom it answers: %+v", a)
				}
				v.event(wire.RunCompleted)
				w.ended(id)
				if got := w.did(); !slices.Equal(got, []string{"git push"}) {
					t.Errorf("ran %v", got)
				}
				scouts := w.scouts(id)
				if len(scouts) != 1 {
					t.Fatalf("%d sub-agents", len(scouts))
				}
				v.whole(scouts[0], "scout")
				info, err = w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Status != api.StatusCompleted || info.Approvals != 0 {
					t.Errorf("completed: %+v", info)
				}
			})
		}
	}
}

// An agent of several in a flow has sub-agents, too.
func TestSubagentOfOneOfSeveral(t *testing.T) {
	w := helping(t, delegating, pushing)
	id, v := w.begun(w.parse(sideBySide), "go")
	for range 2 {
		q := v.question()
		_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
		w.ok(err)
	}
	v.event(wire.RunCompleted)
	w.ended(id)
	scouts := w.scouts(id)
	if len(scouts) != 1 {
		t.Fatalf("%d sub-agents", len(scouts))
	}
	v.whole(scouts[0], "scout")
}

// Who stops a run ends its sub-agents, whether they ask or work.
func TestStopSubagent(t *testing.T) {
	working := `steps: [{tool_uses: [{id: u1, tool: Bash, input: {command: wait}}]}, {text: never}]`
	for name, parent := range map[string]string{"foreground": delegating, "background": behind} {
		for _, answered := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, works %v", name, answered), func(t *testing.T) {
				w := helping(t, parent, working)
				began := make(chan struct{})
				w.during = func(string) { close(began) }
				id, v := w.begun(single(), "go")
				q := v.question()
				if answered {
					_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
					w.ok(err)
					<-began
				}
				w.ok(w.runs.Stop(t.Context(), id, "", ann))
				v.event(wire.RunCancelled)
				scout := w.scouts(id)[0]
				if scout.OpenApprovals != 0 {
					t.Errorf("it still asks: %+v", scout)
				}
				held, err := w.sessions.Lease(t.Context(), scout.ID)
				w.ok(err)
				if held != nil {
					t.Errorf("held by %v", held)
				}
				v.whole(scout, "scout")
				w.ok(w.sessions.Delete(t.Context(), scout.ID))
			})
		}
	}
}

// A daemon ends while a sub-agent asks: the question stays open until the run goes on. Whoever
// goes on with the sub-agent has the answer that came before, or asks anew.
func TestRestartWhileSubagentAsks(t *testing.T) {
	for name, parent := range map[string]string{"foreground": delegating, "background": behind} {
		for _, when := range []string{"before", "after", "never", "stopped"} {
			t.Run(name+", answered "+when, func(t *testing.T) {
				w := helping(t, parent, pushing)
				id, v := w.begun(single(), "go")
				q := v.question()
				w.again()
				info, err := w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Status != api.StatusInterrupted || info.Approvals != 1 {
					t.Errorf("interrupted: %+v", info)
				}
				yes := func() {
					t.Helper()
					_, err := w.runs.Decide(t.Context(), "", decision(q, approval.Allow), q.Digest)
					w.ok(err)
				}
				v = w.watch(id, 0)
				end, ran := wire.RunCompleted, []string{"git push"}
				switch when {
				case "before", "after":
					w.plays["writer"] = resuming(parent, w.scouts(id)[0].ID)
				case "never":
					ran = []string{}
				case "stopped":
					end, ran = wire.RunCancelled, []string{}
				}
				if when == "before" {
					yes()
				}
				if when == "stopped" {
					w.ok(w.runs.Stop(t.Context(), id, "", ann))
				} else {
					w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
				}
				if when == "after" { // it asks anew
					old := q
					for q.ID == old.ID {
						q = v.question()
					}
					yes()
				}
				v.event(end)
				if when == "stopped" {
					v.answer()
				}
				w.ended(id)
				if got := w.did(); !slices.Equal(got, ran) {
					t.Errorf("ran %v", got)
				}
				info, err = w.runs.Get(t.Context(), id)
				w.ok(err)
				if info.Approvals != 0 {
					t.Errorf("ended: %+v", info)
				}
				v.rested()
				v.whole(w.scouts(id)[0], "scout")
			})
		}
	}
}

// resuming is a play that goes on with a sub-agent after what it has played already.
func resuming(play, scout string) string {
	step := "  - tool_uses: [{id: d2, tool: Agent, input: {description: go on, prompt: go on, resume: " + scout + "}}]\n"
	at := strings.Index(play, "  - text:")
	if play == behind {
		at = strings.Index(play, "  - text: it came back")
	}
	return play[:at] + step + play[at:]
}

// rested takes what came in the last event, too.
func (v *watcher) rested() { v.all, v.rest = append(v.all, v.rest...), nil }

// delayedEndStore is a store in which the end of a run that is left waits until it is let go.
type delayedEndStore struct {
	session.Store
	at, goOn chan struct{}
	once     sync.Once // who answers meanwhile makes it be tried again
}

func (h *delayedEndStore) Append(ctx context.Context, id string, b session.Batch) error {
	for _, r := range b.Records {
		if r.Kind == record.KindRunEvent && strings.Contains(string(r.Payload), `"event":"`+wire.RunInterrupted) {
			h.once.Do(func() { close(h.at) })
			<-h.goOn
		}
	}
	return h.Store.Append(ctx, id, b)
}

func (h *delayedEndStore) Unwrap() session.Store { return h.Store }

// An answer to a sub-agent that comes when the run has closed its agents and not yet ended
// is told to those who follow the run, once it has.
func TestSubagentAnsweredWhileTheRunEnds(t *testing.T) {
	w := helping(t, delegating, pushing)
	w.stop()
	h := &delayedEndStore{Store: w.store, at: make(chan struct{}), goOn: make(chan struct{})}
	w.store = h
	w.open()
	id, v := w.begun(single(), "go")
	q := v.question()
	closed := make(chan error, 1)
	go func() { closed <- w.runs.Close() }()
	<-h.at
	decided := make(chan error, 1)
	go func() {
		_, err := w.runs.Decide(t.Context(), "", decision(q, approval.Deny), q.Digest)
		decided <- err
	}()
	w.watch(q.Session, 0).answer() // it is on record
	close(h.goOn)
	w.ok(<-decided)
	w.ok(<-closed)
	if a := v.answer(); a.RequestID != q.ID || a.Decision != approval.Deny {
		t.Errorf("%+v", a)
	}
	if got := w.terminal(id); !slices.Equal(got, []api.RunStatus{api.StatusInterrupted}) {
		t.Errorf("ends %v", got)
	}
}
