package runs_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

func TestRun(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	if e := v.event(wire.RunStarted); e.RequestID != "r1" || e.By != "ann" || e.Segment != 1 || e.Strategy.SoleAgent != "writer" || e.Input != "go" {
		t.Errorf("started %+v", e)
	}
	if e := v.event(wire.RunStepStarted); e.Agent != "writer" || e.Input != "go" {
		t.Errorf("step started %+v", e)
	}
	q := v.approval()
	info, err := w.runs.Get(t.Context(), id)
	w.ok(err)
	if info.Status != api.StatusWaiting || info.Approvals != 1 || info.StrategyName != "writer" {
		t.Errorf("waiting: %+v", info)
	}
	won, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
	if err != nil || won.Decision != approval.Allow || won.Actor != "ann" {
		t.Fatalf("%+v, %v", won, err)
	}
	if e := v.event(wire.RunStepCompleted); !strings.HasPrefix(e.Text, "I push.pushed: ran git push") && !strings.Contains(e.Text, "pushed: ran git push") {
		t.Errorf("step completed %+v", e)
	}
	e := v.event(wire.RunCompleted)
	if e.RequestID != "r1" || e.Usage == nil || e.Usage.Total() == 0 {
		t.Errorf("completed %+v", e)
	}
	w.waitEnded(id)
	if got := w.did(); !slices.Equal(got, []string{"git push"}) {
		t.Errorf("ran %v", got)
	}
	info, err = w.runs.Get(t.Context(), id)
	w.ok(err)
	if info.Status != api.StatusCompleted || info.CompletedAt == nil || info.Segment != 1 || !slices.Equal(info.Agents, []string{"writer"}) {
		t.Errorf("completed: %+v", info)
	}

	w.ok(w.runs.Continue(t.Context(), id, "more", "r2", ann))
	if e := v.event(wire.RunStarted); e.Segment != 2 || e.Resumed {
		t.Errorf("continued %+v", e)
	}
	if e := v.event(wire.RunCompleted); e.Text != "again" || e.RequestID != "r2" || e.Segment != 2 {
		t.Errorf("completed %+v", e)
	}
}

func TestErrors(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	ctx := t.Context()
	w.wantCode(w.runs.Start(ctx, "nobody", "", "", ann), wire.CodeStartFailed)
	w.wantCode(w.runs.Continue(ctx, "nobody", "x", "", ann), wire.CodeContinueFailed)
	w.wantCode(w.runs.Stop(ctx, "nobody", "", ann), wire.CodeRunNotFound)
	w.wantCode(w.steer("nobody", "x"), wire.CodeRunNotSteerable)
	w.wantCode(w.runs.Withdraw(ctx, "nobody", "x", ann), wire.CodeRunNotFound)
	w.wantCode(w.runs.Input(ctx, "nobody", "a", "", "x", ann), wire.CodeNoPendingInput)
	_, err := w.runs.Change(ctx, "nobody", policy.Change{Mode: policy.ModePlan}, ann)
	w.wantCode(err, wire.CodeRunNotFound)
	if err.Error() != "No active run found for runId nobody" {
		t.Error(err)
	}
	_, err = w.runs.Get(ctx, "nobody")
	w.wantCode(err, wire.CodeRunNotFound)
	if _, err := w.runs.Decide(ctx, "nobody", approval.Answer{RequestID: "q", Decision: approval.Allow}, ""); !errors.Is(err, approval.ErrNoRequest) {
		t.Error(err)
	}
	for _, o := range []runs.PrepareOptions{
		{}, {Run: "../x", Strategy: single(), Spec: runspec.Spec{Cwd: w.cwd}}, {Run: "unknown"}, {Strategy: single()},
	} {
		_, err := w.runs.Prepare(ctx, o)
		w.wantCode(err, wire.CodePrepareFailed)
	}

	id := w.prepare(single())
	w.wantCode(w.runs.Continue(ctx, id, "x", "", ann), wire.CodeContinueFailed)
	_, err = w.runs.Prepare(ctx, runs.PrepareOptions{Run: id, Strategy: single(), Spec: runspec.Spec{Cwd: w.cwd}})
	w.wantCode(err, wire.CodePrepareFailed)
	w.ok(w.runs.Start(ctx, id, "go", "", ann))
	w.wantCode(w.runs.Start(ctx, id, "go", "", ann), wire.CodeStartFailed)
	_, err = w.runs.Prepare(ctx, runs.PrepareOptions{Run: id, Strategy: single(), Spec: runspec.Spec{Cwd: w.cwd}})
	w.wantCode(err, wire.CodePrepareFailed)
	w.ok(w.runs.Stop(ctx, id, "", ann))
	w.wantCode(w.runs.Stop(ctx, id, "", ann), wire.CodeRunNotFound)
}

// A run that was prepared and never started leaves nothing in the store.
func TestPreparedRunLeavesNothing(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id := w.prepare(single())
	info, err := w.runs.Get(t.Context(), id)
	if err != nil || info.Status != api.StatusPending {
		t.Fatalf("%+v, %v", info, err)
	}
	w.ok(w.runs.Stop(t.Context(), id, "", ann))
	list, _, err := w.runs.List(t.Context(), runs.ListOptions{})
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := w.sessions.Get(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
}

// Of two concurrent preparations of the same new run, one succeeds; generated ids differ.
func TestPrepareRace(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	var g sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		g.Go(func() {
			_, errs[i] = w.runs.Prepare(t.Context(), runs.PrepareOptions{Run: "mine", Strategy: single(), Spec: runspec.Spec{Cwd: w.cwd}})
		})
	}
	g.Wait()
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
		} else {
			w.wantCode(err, wire.CodePrepareFailed)
		}
	}
	if good != 1 {
		t.Errorf("%d prepared it", good)
	}
	if a, b := w.prepare(single()), w.prepare(single()); a == b {
		t.Errorf("both are %s", a)
	}
}

func TestStop(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: wait}}]
  - text: never
`})
	started := make(chan struct{})
	w.during = func(string) { close(started) }
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	<-started
	w.ok(w.runs.Stop(t.Context(), id, "r9", runs.Actor{Name: "bob"}))
	if e := v.event(wire.RunCancelled); e.By != "bob" || e.RequestID != "r9" || e.Code != wire.CodeCancelled {
		t.Errorf("%+v", e)
	}
	if got := w.recordedEnds(id); !slices.Equal(got, []api.RunStatus{api.StatusCancelled}) {
		t.Errorf("ends %v", got)
	}
}

// Stopping a run that waits for approval closes its request.
func TestStopWhileWaiting(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	w.ok(w.runs.Stop(t.Context(), id, "", ann))
	if a := v.answer(); a.Decision != approval.Deny {
		t.Errorf("%+v", a)
	}
	if _, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), ""); !errors.Is(err, approval.ErrNoRequest) {
		t.Error(err)
	}
	if got := w.did(); len(got) != 0 {
		t.Errorf("ran %v", got)
	}
}

// If the end of a flow and stop_run coincide, exactly one end is recorded.
func TestStopRace(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	for range 30 {
		id := w.prepare(single())
		var g sync.WaitGroup
		w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
		for range 3 {
			g.Go(func() { _ = w.runs.Stop(t.Context(), id, "", ann) })
		}
		g.Wait()
		w.waitEnded(id)
		if got := w.recordedEnds(id); len(got) != 1 {
			t.Fatalf("ends %v", got)
		}
	}
}

// The first answer wins; repeating it succeeds; a different later answer returns the winner.
func TestDecideRace(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	var g sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		g.Go(func() {
			d := []approval.Decision{approval.Allow, approval.Deny}[i%2]
			_, errs[i] = w.runs.Decide(t.Context(), "", decision(q, d), q.Digest)
		})
	}
	g.Wait()
	won := v.answer()
	for i, err := range errs {
		d := []approval.Decision{approval.Allow, approval.Deny}[i%2]
		lost, ok := errors.AsType[*approval.AnsweredError](err)
		switch {
		case d == won.Decision && err != nil:
			t.Errorf("the same answer: %v", err)
		case d != won.Decision && (!ok || lost.First.Decision != won.Decision):
			t.Errorf("another answer: %v", err)
		}
	}
	v.event(wire.RunCompleted)
	if _, err := w.runs.Decide(t.Context(), id, decision(q, won.Decision), ""); !errors.Is(err, approval.ErrNoRequest) {
		t.Errorf("late, to the run: %v", err)
	} else if lost, ok := errors.AsType[*approval.AnsweredError](err); !ok || lost.First.Decision != won.Decision || lost.First.Actor != won.Actor {
		t.Errorf("late, to the run, does not return the winner: %v", err)
	}
	if _, err := w.runs.Decide(t.Context(), "", decision(q, won.Decision), ""); err != nil {
		t.Errorf("late, the same: %v", err)
	}
}

// An answer with the digest of another request is rejected.
func TestDigest(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	for _, run := range []string{id, ""} {
		if _, err := w.runs.Decide(t.Context(), run, decision(q, approval.Allow), "beef"); !errors.Is(err, approval.ErrInvalid) {
			t.Error(err)
		}
		if _, err := w.runs.Decide(t.Context(), run, decision(q, "maybe"), ""); !errors.Is(err, approval.ErrInvalid) {
			t.Error(err)
		}
	}
	_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Deny), q.Digest)
	w.ok(err)
}

// A run that ends with its daemon is listed as interrupted. Its approval request can be answered
// before the run is continued, and the call then runs once.
func TestInterrupted(t *testing.T) {
	for _, answered := range []bool{false, true} {
		w := begin(t, map[string]string{"writer": pushScript})
		id, v := w.prepareAndStart(single(), "go")
		q := v.approval()
		w.restart()
		info, err := w.runs.Get(t.Context(), id)
		w.ok(err)
		if info.Status != api.StatusInterrupted || info.Approvals != 1 || info.Error == nil || info.Error.Code != string(wire.CodeInterrupted) {
			t.Fatalf("%+v", info)
		}
		if answered {
			_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
			w.ok(err)
		}
		w.ok(w.runs.Continue(t.Context(), id, "", "r3", ann))
		v = w.watch(id, info.LastSeq)
		if !answered {
			_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), q.Digest)
			w.ok(err)
		}
		if e := v.event(wire.RunCompleted); !strings.Contains(e.Text, "pushed: ran git push") || e.Segment != 1 {
			t.Errorf("%+v", e)
		}
		if got := w.did(); !slices.Equal(got, []string{"git push"}) {
			t.Errorf("ran %v", got)
		}
	}
}

// With Resume, a daemon resumes interrupted runs by itself.
func TestResume(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	w.resume = true
	w.restart()
	v = w.watch(id, 0)
	_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	v.event(wire.RunCompleted)
}

func TestStopInterrupted(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	id, v := w.prepareAndStart(single(), "go")
	v.approval()
	w.restart()
	w.ok(w.runs.Stop(t.Context(), id, "", ann))
	info, err := w.runs.Get(t.Context(), id)
	if err != nil || info.Status != api.StatusCancelled || info.Approvals != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

const reviewStrategy = `
name: review
version: "1"
agents:
  writer:  {type: llm}
  checker: {type: llm}
  person:  {type: user, prompt: "good enough?"}
flow:
  sequence: [writer, person, checker]
`

// Records of agents with separate sessions are in the run's feed, in order, and the run continues
// at the right place when a daemon ends between steps or within one.
func TestSeveralAgents(t *testing.T) {
	w := begin(t, map[string]string{
		"writer":  "steps: [{text: a draft}]",
		"checker": pushScript,
	})
	id, v := w.prepareAndStart(w.parse(reviewStrategy), "write")
	first := v.until("the writer's answer", func(r feed.Record) bool {
		return r.Kind == session.KindItem && strings.Contains(string(r.Payload), "a draft")
	})
	if first.Agent != "writer" || first.Session != id+".writer" {
		t.Errorf("%+v", first)
	}
	asked := v.event(wire.RunInputAsked)
	if asked.Text != "good enough?" || asked.Agent != "person" {
		t.Errorf("%+v", asked)
	}
	w.restart()
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	w.wantCode(w.runs.Input(t.Context(), id, "writer", "", "yes", ann), wire.CodeNoPendingInput)
	for w.runs.Input(t.Context(), id, "person", asked.InputID, "yes, check it", ann) != nil { // it is asked again shortly
		if t.Context().Err() != nil {
			t.Fatal("no request for input")
		}
	}
	v = w.watch(id, 0)
	q := v.approval()
	if q.Agent != "checker" || q.Session != id || q.Asker != id+".checker" {
		t.Errorf("%+v", q)
	}
	w.restart()
	follower := w.watch(id, feed.FromEnd)
	if _, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), ""); err != nil {
		t.Fatal(err)
	}
	if a := follower.answer(); a.RequestID != q.ID { // although the run is not active
		t.Errorf("%+v", a)
	}
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	v = w.watch(id, 0)
	if e := v.event(wire.RunCompleted); !strings.Contains(e.Text, "pushed: ran git push") {
		t.Errorf("%+v", e)
	}
	var started []string
	for _, r := range v.all {
		if r.Kind == record.KindTurnOpened {
			started = append(started, r.Agent)
		}
	}
	if !slices.Equal(started, []string{"writer", "checker"}) {
		t.Errorf("turns of %v", started)
	}
	if got := w.did(); !slices.Equal(got, []string{"git push"}) {
		t.Errorf("ran %v", got)
	}
}

// The first user agent takes the input of the start.
func TestFirstInput(t *testing.T) {
	w := begin(t, map[string]string{"echo": "steps: [{expect: {user: go}, text: done}]"})
	s := w.parse("name: chat\nversion: \"1\"\nagents: {me: {type: user}, echo: {type: llm}}\nflow: {sequence: [me, echo]}\n")
	_, v := w.prepareAndStart(s, "go")
	if e := v.event(wire.RunCompleted); e.Text != "done" {
		t.Errorf("%+v", e)
	}
	for _, r := range v.all {
		if strings.Contains(string(r.Payload), wire.RunInputAsked) {
			t.Error("it asked")
		}
	}
}

func TestFailure(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{error: {kind: auth, message: no key}}]"})
	id, v := w.prepareAndStart(single(), "go")
	if e := v.event(wire.RunFailed); e.Code != wire.CodeExecution || !strings.Contains(e.Message, "no key") || !strings.Contains(e.Message, "writer") {
		t.Errorf("%+v", e)
	}
	w.waitEnded(id)
	bad := w.prepare(strategy.Single(strategy.Agent{Name: "other", Type: strategy.LLM}))
	w.wantCode(w.runs.Start(t.Context(), bad, "go", "", ann), wire.CodeStartFailed)
}

func TestLimit(t *testing.T) {
	w := begin(t, map[string]string{"writer": pushScript})
	w.limit = 1
	w.restart()
	_, v := w.prepareAndStart(single(), "go")
	v.approval()
	w.wantCode(w.runs.Start(t.Context(), w.prepare(single()), "go", "", ann), wire.CodeStartFailed)
}
