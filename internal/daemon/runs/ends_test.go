package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// A panic in one run ends only that run: a start fails and can be repeated, an active run fails
// once.
func TestPanics(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: a draft}]", "checker": pushScript})
	w.making = func(context.Context, runs.AgentRequest) { panic("no parts") }
	id := w.prepare(single())
	w.wantCode(w.runs.Start(t.Context(), id, "go", "", ann), wire.CodeStartFailed)
	w.making = nil
	w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
	w.watch(id, 0).event(wire.RunCompleted)

	w.making = func(_ context.Context, n runs.AgentRequest) {
		if n.Agent.Name == "checker" {
			panic("no parts")
		}
	}
	id, v := w.prepareAndStart(w.parse("name: two\nversion: \"1\"\nagents: {writer: {type: llm}, checker: {type: llm}}\nflow: {sequence: [writer, checker]}\n"), "go")
	if e := v.event(wire.RunFailed); !strings.Contains(e.Message, "no parts") {
		t.Errorf("%+v", e)
	}
	w.waitEnded(id)
	if got := w.recordedEnds(id); !slices.Equal(got, []api.RunStatus{api.StatusFailed}) {
		t.Errorf("ends %v", got)
	}
}

// Stopping a run that is starting, or the daemon, does not wait for the creation of its agents.
func TestStopWhileStarting(t *testing.T) {
	for name, end := range map[string]func(w *runsEnv, id string) error{
		"stop":  func(w *runsEnv, id string) error { return w.runs.Stop(w.t.Context(), id, "", ann) },
		"close": func(w *runsEnv, _ string) error { return w.runs.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, map[string]string{"writer": pushScript})
			started := make(chan struct{})
			w.making = func(ctx context.Context, _ runs.AgentRequest) {
				close(started)
				<-ctx.Done()
			}
			id := w.prepare(single())
			failed := make(chan error, 1)
			go func() { failed <- w.runs.Start(t.Context(), id, "go", "", ann) }()
			<-started
			w.ok(end(w, id))
			w.wantCode(<-failed, wire.CodeStartFailed)
			if n := w.runs.Active(); n != 0 {
				t.Errorf("%d runs run", n)
			}
		})
	}
}

// A failed start of several agents releases the run's session.
func TestStartAfterFailure(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: a draft}]", "checker": "steps: [{text: fine}]"})
	id := w.prepare(w.parse(reviewStrategy))
	l, err := w.sessions.Create(t.Context(), session.Opened{SessionID: id, CWD: w.cwd})
	w.ok(err)
	w.wantCode(w.runs.Start(t.Context(), id, "go", "", ann), wire.CodeStartFailed) // another process holds the lease
	w.ok(l.Close())
	w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
	w.watch(id, 0).event(wire.RunInputAsked)
}

// Of several concurrent continuations of a run, exactly one succeeds, and the run can be found.
func TestContinueRace(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}, {tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]}, {text: again}]"})
	id, v := w.prepareAndStart(single(), "go")
	v.event(wire.RunCompleted)
	w.waitEnded(id)
	var g sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		g.Go(func() { errs[i] = w.runs.Continue(t.Context(), id, "more", "", ann) })
	}
	g.Wait()
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
		}
	}
	if good != 1 || !w.runs.Busy(id) {
		t.Fatalf("%d continued it, busy %v", good, w.runs.Busy(id))
	}
	v.approval()
	w.ok(w.runs.Stop(t.Context(), id, "", ann))
	if got := w.recordedEnds(id); !slices.Equal(got, []api.RunStatus{api.StatusCompleted, api.StatusCancelled}) {
		t.Errorf("ends %v", got)
	}
}

// recordUnfinished records a run that was running when its daemon was killed.
func (w *runsEnv) recordUnfinished(id string, items ...session.Record) {
	w.t.Helper()
	w.wantCode(w.runs.Stop(w.t.Context(), id, "", ann), wire.CodeRunNotFound)
	info := &wire.StrategyInfo{Name: "writer", SoleAgent: "writer", Source: single().Source, Cwd: w.cwd}
	l, err := w.sessions.Create(w.t.Context(), session.Opened{SessionID: id, CWD: w.cwd})
	w.ok(err)
	for _, e := range []wire.RunEvent{
		{Event: wire.RunStarted, Status: api.StatusRunning, Segment: 1, Strategy: info, Input: "go"},
		{Event: wire.RunStepStarted, Segment: 1, Step: "0", Agent: "writer", Input: "go"},
	} {
		d, err := session.NewDraft(record.KindRunEvent, e)
		w.ok(err)
		_, err = l.Append(w.t.Context(), d)
		w.ok(err)
	}
	for _, r := range items {
		_, err = l.Append(w.t.Context(), session.Draft{Kind: r.Kind, Payload: r.Payload})
		w.ok(err)
	}
	w.ok(l.Close())
}

// A run whose end could not be recorded counts as interrupted, and can be stopped and continued.
func TestLostRuns(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	for _, id := range []string{"stopped", "continued"} {
		w.recordUnfinished(id)
		info, err := w.runs.Get(t.Context(), id)
		w.ok(err)
		if info.Status != api.StatusInterrupted || info.Error == nil {
			t.Errorf("%+v", info)
		}
	}
	list, _, err := w.runs.List(t.Context(), runs.ListOptions{Status: api.StatusRunning})
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	w.ok(w.runs.Stop(t.Context(), "stopped", "", ann))
	if got := w.recordedEnds("stopped"); !slices.Equal(got, []api.RunStatus{api.StatusInterrupted, api.StatusCancelled}) {
		t.Errorf("ends %v", got)
	}
	w.ok(w.runs.Continue(t.Context(), "continued", "", "", ann))
	v := w.watch("continued", 0)
	if e := v.event(wire.RunCompleted); e.Segment != 1 || e.Text != "done" {
		t.Errorf("%+v", e)
	}
}

// A daemon that is killed between the last answer and the end of a turn does not call the model
// again.
func TestKillAfterLastAnswer(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	id, v := w.prepareAndStart(single(), "go")
	v.event(wire.RunCompleted)
	w.waitEnded(id)
	var turn []session.Record
	for r, err := range w.sessions.Records(t.Context(), id, session.Range{}) {
		w.ok(err)
		if r.Kind == record.KindTurnOpened || r.Kind == session.KindItem {
			turn = append(turn, r)
		}
	}
	for n := range len(turn) + 1 {
		id := "killed-" + string(rune('a'+n))
		w.recordUnfinished(id, turn[:n]...)
		w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
		v := w.watch(id, 0)
		if e := v.event(wire.RunCompleted); e.Text != "done" {
			t.Errorf("%+v", e)
		}
		items := 0
		for _, r := range v.all {
			if r.Kind == session.KindItem {
				items++
			}
		}
		if items != 2 {
			t.Errorf("after %d records of the turn: %d items", n, items)
		}
	}
}

const broadcastStrategy = `
name: both
version: "1"
agents: {left: {type: llm}, right: {type: llm}}
flow: {type: broadcast, steps: [left, right]}
`

// When a daemon ends while two agents ask concurrently, both approval requests stay open.
func TestDrainWithTwoRequests(t *testing.T) {
	w := begin(t, map[string]string{"left": pushScript, "right": pushScript})
	id, v := w.prepareAndStart(w.parse(broadcastStrategy), "go")
	asked := []approval.Request{v.approval(), v.approval()}
	w.restart()
	info, err := w.runs.Get(t.Context(), id)
	w.ok(err)
	if info.Status != api.StatusInterrupted || info.Approvals != 2 {
		t.Fatalf("%+v", info)
	}
	_, err = w.runs.Decide(t.Context(), id, decision(asked[0], approval.Allow), asked[0].Digest)
	w.ok(err)
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	_, err = w.runs.Decide(t.Context(), id, decision(asked[1], approval.Allow), asked[1].Digest)
	w.ok(err)
	w.watch(id, 0).event(wire.RunCompleted)
	if got := w.did(); len(got) != 2 {
		t.Errorf("ran %v", got)
	}
}

// A policy change applies to an agent that is created after a restart of the daemon.
func TestPolicyOfFutureAgents(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: a draft}]", "checker": pushScript})
	id, v := w.prepareAndStart(w.parse(reviewStrategy), "write")
	asked := v.event(wire.RunInputAsked)
	_, err := w.runs.Change(t.Context(), id, policy.Change{Mode: policy.ModeDontAsk}, ann)
	w.ok(err)
	for range 2 {
		w.restart()
		w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	}
	for w.runs.Input(t.Context(), id, "person", asked.InputID, "yes", ann) != nil {
		w.ok(t.Context().Err())
	}
	w.watch(id, 0).event(wire.RunCompleted)
	if got := w.did(); len(got) != 0 {
		t.Errorf("ran %v", got)
	}
}

// Grants of a run stay in force when another daemon continues the run, also if no request was open
// when the first daemon ended.
func TestGrantsAfterRestart(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - tool_uses: [{id: u2, tool: Bash, input: {command: wait}}]
  - tool_uses: [{id: u3, tool: Bash, input: {command: git push}}]
  - text: done
`})
	waits := make(chan struct{})
	w.during = func(line string) {
		if line == "wait" {
			close(waits)
		}
	}
	id, v := w.prepareAndStart(single(), "go")
	for _, d := range []approval.Decision{approval.AllowSession, approval.Allow} {
		q := v.approval()
		_, err := w.runs.Decide(t.Context(), id, decision(q, d), q.Digest)
		w.ok(err)
	}
	<-waits
	w.restart()
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	w.watch(id, 0).event(wire.RunCompleted)
	if got := w.did(); !slices.Equal(got, []string{"git push", "wait", "git push"}) {
		t.Errorf("ran %v", got)
	}
}

// An input is recorded after its request, however early it arrives.
func TestEarlyInput(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: a draft}]", "checker": "steps: [{text: fine}]"})
	id, v := w.prepareAndStart(w.parse(reviewStrategy), "write")
	for {
		err := w.runs.Input(t.Context(), id, "person", "", "yes", ann)
		if e, ok := errors.AsType[*runs.Error](err); !ok || e.Code != wire.CodeNoPendingInput {
			w.ok(err)
			break
		}
	}
	v.event(wire.RunCompleted)
	var order []string
	for _, r := range v.all {
		var e wire.RunEvent
		if r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &e) == nil && strings.HasPrefix(e.Event, "input_") {
			order = append(order, e.Event)
		}
	}
	if !slices.Equal(order, []string{wire.RunInputAsked, wire.RunInputGiven}) {
		t.Errorf("%v", order)
	}
}
