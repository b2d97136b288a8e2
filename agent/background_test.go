package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusBackground(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "background"), map[string]func(*testing.T, corpus.Case){
		"ak-task-001": corpus.Test(`{"given": {"routing":"foreground"}, "when": ["c1 completes"], "expect": {"tool results for c1":1,"notifications":0}}`, by(TestDetachNeedsRequest)),
		"ak-task-003": corpus.Test(`{"given": {"routing":"detach after 500 ms, completes at once"}, "when": ["run"], "expect": {"tool results":1,"notifications":0,"placeholder":false}}`, by(TestQuickCallNotDetached)),
		"ak-task-006": corpus.Test(`{"given": {"state":"placeholder"}, "when": ["events"], "expect": {"placeholder is":"progress event","terminal result event":"only at the real completion, once"}}`, by(TestCallContinuesInBackground)),
		"ak-task-007": corpus.Test(`{"given": {"state":"foreground f and background b running"}, "when": ["interrupt"], "expect": {"f":"cancelled","b":"keeps running"}}`, by(TestInterruptKeepsBackgroundTasks)),
		"ak-task-009": corpus.Test(`{"given": {"state":"continue policy request-continue"}, "when": ["task completes"], "expect": {"continue requested event":true}}`, by(TestCallContinuesInBackground)),
		"ak-task-013": corpus.Test(`{"given": {"state":"10k tasks completed"}, "when": ["list"], "expect": {"retained":"bounded"}}`, by(TestBackgroundMaxFinished)),
		"ak-task-014": corpus.Test(`{"given": {"state":"background approval cancelled"}, "when": ["drained"], "expect": {"auto resolved":true}}`, by(TestNestedRequestDelaysDetach)),
	}, nil)
}

// slow is a tool whose calls end on request or with their context.
type slow struct {
	probe
	began chan *tool.Call
	end   chan tool.Result
	after time.Duration
}

func newSlow(name string, after time.Duration) *slow {
	s := &slow{began: make(chan *tool.Call, 10), end: make(chan tool.Result), after: after}
	s.probe = probe{name: name, run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		_, _ = c.Output.Write([]byte("begun "))
		s.began <- c
		select {
		case r := <-s.end:
			return r, nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}}
	return s
}

func (s *slow) Detach(*tool.Call) time.Duration { return s.after }
func (s *slow) Awaited(*tool.Call) bool         { return false }

// answersOf returns the number of results of a use in a transcript, and the notifications.
func answersOf(items []transcript.Encoded, use string) (n int, notes []string) {
	for _, e := range items {
		it, err := e.Decode()
		if err != nil {
			panic(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok && r.UseID == use {
				n++
			}
		}
		if it.Role == transcript.RoleNotification {
			notes = append(notes, it.Text())
		}
	}
	return n, notes
}

func countEvents[E event.Event](all []event.Event) (n int) {
	for _, e := range all {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// detached counts the calls that have a result but have not ended.
func detached(all []event.Event) (n int) {
	running := map[string]bool{}
	for _, e := range all {
		switch e := e.(type) {
		case event.ToolStarted:
			running[e.Use] = true
		case event.ToolFinished:
			delete(running, e.Use)
		case event.ItemAppended:
			for _, use := range e.Item.ResultIDs() {
				if running[use] {
					n++
				}
			}
		}
	}
	return n
}

// answerQueue runs a turn on the queued input.
func answerQueue(t testing.TB, a *agent.Agent) (all []event.Event) {
	t.Helper()
	for e, err := range a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestCallContinuesInBackground(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	work := newSlow("work", 0)
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "it is done"})
	woken := make(chan struct{}, 1)
	back := &agent.Background{OnNotification: func() { woken <- struct{}{} }}
	a := newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, work), Background: back})
	first := events(t, a, "begin")
	if detached(first) != 1 || countEvents[event.ToolFinished](first) != 0 || last(t, first).Text != "it runs" {
		t.Errorf("events of the first turn: %T", first)
	}
	<-work.began
	if about, text, _, err := back.Output("c1"); err != nil || string(text) != "begun " || !about.Running {
		t.Errorf("while it runs: %+v %q %v", about, text, err)
	}
	work.end <- tool.Text("42")
	<-woken
	second := answerQueue(t, a)
	if countEvents[event.ToolFinished](second) != 1 || last(t, second).Text != "it is done" {
		t.Errorf("events of the second turn: %T", second)
	}
	n, notes := answersOf(a.Snapshot().Items, "c1")
	if n != 1 || len(notes) != 1 || !strings.Contains(notes[0], "42") || !strings.Contains(notes[0], "c1") {
		t.Errorf("%d results, notifications %q", n, notes)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	finished := 0
	for _, k := range kinds(t, sessions, a.SessionID()) {
		if k == record.KindToolFinished {
			finished++
		}
	}
	if finished != 1 {
		t.Errorf("%d ends recorded", finished)
	}
}

func TestDetachNeedsRequest(t *testing.T) {
	for name, after := range map[string]time.Duration{"the tool says never": -1, "there is no background": 0} {
		t.Run(name, func(t *testing.T) {
			work := newSlow("work", after)
			var back *agent.Background
			if after < 0 {
				back = &agent.Background{}
			}
			m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "done"})
			a := newAgent(t, m, agent.Options{Tools: registry(t, work), Background: back})
			go func() {
				<-work.began
				work.end <- tool.Text("42")
			}()
			all := events(t, a, "begin")
			n, notes := answersOf(a.Snapshot().Items, "c1")
			if n != 1 || len(notes) != 0 || detached(all) != 0 || countEvents[event.ToolFinished](all) != 1 {
				t.Errorf("%d results, notifications %q, got %T", n, notes, all)
			}
			if back.Running() != 0 || len(back.List()) != 0 {
				t.Errorf("in the background: %+v", back.List())
			}
		})
	}
}

func TestQuickCallNotDetached(t *testing.T) {
	quick := struct {
		probe
		late
	}{hasContent("quick", "at once"), late(500 * time.Millisecond)}
	back := &agent.Background{}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "quick", `{}`)}}, step{text: "done"})
	waits := func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
	a := newAgent(t, m, agent.Options{Tools: registry(t, quick), Background: back, Sleep: waits})
	all := events(t, a, "begin")
	n, notes := answersOf(a.Snapshot().Items, "c1")
	if n != 1 || len(notes) != 0 || detached(all) != 0 {
		t.Errorf("%d results, notifications %q, got %T", n, notes, all)
	}
}

type late time.Duration

func (l late) Detach(*tool.Call) time.Duration { return time.Duration(l) }
func (l late) Awaited(*tool.Call) bool         { return false }

func TestInterruptKeepsBackgroundTasks(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	behind, front := newSlow("behind", 0), newSlow("front", -1)
	never := newSlow("never", 0)
	m := play(t,
		step{uses: []transcript.ToolUse{use("b", "behind", `{}`), use("f", "front", `{}`), use("n", "never", `{}`)}},
		step{text: "after"})
	woken := make(chan struct{}, 1)
	back := &agent.Background{OnNotification: func() { woken <- struct{}{} }}
	a := newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, behind, front, never), Background: back})
	go func() {
		<-behind.began
		<-front.began
		a.Interrupt()
	}()
	if r := last(t, events(t, a, "begin")); r.Reason != event.ReasonInterrupted {
		t.Errorf("the turn ended with %s", r.Reason)
	}
	if list := back.List(); len(list) != 1 || list[0].UseID != "b" || !list[0].Running {
		t.Errorf("in the background: %+v", list)
	}
	behind.end <- tool.Text("whole")
	<-woken
	answerQueue(t, a)
	for _, id := range []string{"b", "f", "n"} {
		if n, _ := answersOf(a.Snapshot().Items, id); n != 1 {
			t.Errorf("%d results of %s", n, id)
		}
	}
	if _, notes := answersOf(a.Snapshot().Items, "b"); len(notes) != 1 || !strings.Contains(notes[0], "whole") {
		t.Errorf("notifications %q", notes)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestStopAndCloseEndBackgroundTasks(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	work := newSlow("work", 0)
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`), use("c2", "work", `{}`)}}, step{text: "both run"})
	back := &agent.Background{}
	a := newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, work), Background: back})
	prompt(t, a, "begin")
	if err := back.Stop(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	if err := back.Stop(t.Context(), "c9"); !errors.Is(err, agent.ErrNoTask) {
		t.Errorf("stopping one that is not there: %v", err)
	}
	if back.Running() != 1 {
		t.Errorf("%+v", back.List())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if back.Running() != 0 {
		t.Errorf("after Close: %+v", back.List())
	}
	m = play(t, step{text: "I see"})
	a = newAgent(t, m, agent.Options{Sessions: sessions, Session: session.RestoreOptions{SessionID: a.SessionID()}})
	answerQueue(t, a)
	_, notes := answersOf(a.Snapshot().Items, "c1")
	if len(notes) != 2 || !strings.Contains(notes[0], " stopped.") || !strings.Contains(notes[1], "was stopped because the session closed") {
		t.Errorf("notifications %q", notes)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestCrashNotifiesBackgroundCalls(t *testing.T) {
	store := memory.New()
	work := newSlow("work", 0)
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"})
	sessions := session.New(store, nil)
	a := newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, work), Background: &agent.Background{}})
	prompt(t, a, "begin")
	again := play(t, step{text: "I see"})
	b := newAgent(t, again, agent.Options{
		Sessions: session.New(store, nil), Session: session.RestoreOptions{SessionID: a.SessionID(), Takeover: true},
	})
	answerQueue(t, b)
	n, notes := answersOf(b.Snapshot().Items, "c1")
	if n != 1 || len(notes) != 1 || !strings.Contains(notes[0], "outcome is unknown") {
		t.Errorf("%d results, notifications %q", n, notes)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	// The first agent has lost its session.
	if err := a.Close(); err == nil {
		t.Error("the first agent closed a lost session without an error")
	}
	c := newAgent(t, play(t, step{text: "ok"}), agent.Options{Sessions: sessions, Session: session.RestoreOptions{SessionID: a.SessionID()}})
	prompt(t, c, "and now?")
	if n, notes := answersOf(c.Snapshot().Items, "c1"); n != 1 || len(notes) != 1 {
		t.Errorf("notified again: %d results, %q", n, notes)
	}
}

func TestBackgroundMaxFinished(t *testing.T) {
	const keep, calls = 5, 40
	done := struct {
		probe
		late
	}{hasContent("done", "done"), late(0)}
	var steps []step
	for i := range calls {
		steps = append(steps, step{uses: []transcript.ToolUse{use(fmt.Sprintf("c%d", i), "done", `{}`)}})
	}
	back := &agent.Background{MaxFinished: keep}
	a := newAgent(t, play(t, append(steps, step{text: "end"}, step{text: "end"}, step{text: "end"})...), agent.Options{Tools: registry(t, done), Background: back})
	prompt(t, a, "begin")
	for i := range calls {
		if err := back.Wait(t.Context(), fmt.Sprintf("c%d", i)); err != nil && !errors.Is(err, agent.ErrNoTask) {
			t.Fatal(err)
		}
	}
	if list := back.List(); len(list) > keep {
		t.Errorf("%d calls are remembered, want at most %d", len(list), keep)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestNestedRequestDelaysDetach(t *testing.T) {
	asks := struct {
		probe
		late
	}{probe{name: "asks", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		if err := c.Ask(ctx, policy.Request{Tool: "asks", Operation: policy.OpConnect, Resource: "example.com", Input: c.Input}); err != nil {
			return tool.Failure("no: " + err.Error()), nil //nolint:nilerr // the model gets the error
		}
		return tool.Text("yes"), nil
	}}, late(time.Millisecond)}
	back := &agent.Background{}
	o := agent.Options{Tools: registry(t, asks), Background: back}
	o.Permissions.Config.Mode = policy.ModeDefault
	o.Permissions.Config.CanUseTool = nil
	a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "asks", `{}`)}}), o)
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "begin"}); err != nil {
		t.Fatal(err)
	}
	step, err := d.Next(t.Context())
	if err != nil || len(step.Approvals) == 0 {
		t.Fatalf("%+v %v", step, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if step, err = d.Next(ctx); err != nil || step.Result == nil || step.Result.Reason != event.ReasonInterrupted {
		t.Fatalf("after the interrupt: %+v %v", step, err)
	}
	if q := a.Snapshot().Approvals; len(q) != 0 || back.Running() != 0 {
		t.Errorf("left: %+v, %+v", q, back.List())
	}
	if n, _ := answersOf(a.Snapshot().Items, "c1"); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestTaskTools(t *testing.T) {
	work := newSlow("work", 0)
	back := &agent.Background{}
	tools, err := back.Tools()
	if err != nil {
		t.Fatal(err)
	}
	m := play(t,
		step{uses: []transcript.ToolUse{use("c1", "work", `{}`), use("c2", "work", `{}`)}},
		step{uses: []transcript.ToolUse{
			use("o1", "TaskOutput", `{"task_id":"c1"}`), use("o2", "TaskOutput", `{"task_id":"c1"}`), use("o3", "TaskOutput", `{}`),
			use("o4", "TaskOutput", `{"task_id":"c9"}`), use("o5", "TaskOutput", `{"task_id":"c2","block":true,"timeout":1}`),
			use("s1", "TaskStop", `{"task_id":"c2"}`), use("s2", "TaskStop", `{"task_id":"c9"}`), use("o6", "TaskOutput", `{"task_id":"c2","block":true}`),
		}, during: func(context.Context) { <-work.began; <-work.began }},
		step{text: "done"}, step{text: "done"})
	o := agent.Options{Tools: registry(t, append(tools, work)...), Background: back}
	o.Permissions.Config.Mode = policy.ModeDefault
	o.Permissions.Ask = func(_ context.Context, q approval.Request) (approval.Answer, error) {
		if q.Tool != "work" {
			t.Errorf("asked about %s", q.Tool)
		}
		return approval.Answer{Decision: approval.Allow, Actor: "me"}, nil
	}
	a := newAgent(t, m, o)
	prompt(t, a, "begin")
	for id, want := range map[string]string{
		"o3": "c2 (work) running for", "o4": `unknown background task "c9"; tasks: c1, c2`, "o5": "running for",
		"s1": "has stopped", "s2": "unknown background task", "o6": "c2 (work) stopped",
	} {
		if text, _ := resultText(t, a, id); !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", id, text, want)
		}
	}
	first, _ := resultText(t, a, "o1")
	second, _ := resultText(t, a, "o2") // they run in parallel
	if strings.Count(first+second, "begun") != 1 {
		t.Errorf("what was written is shown as %q and %q", first, second)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
