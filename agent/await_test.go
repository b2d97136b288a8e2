package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// awaitedTool is a slow tool whose background tasks are awaited.
type awaitedTool struct{ *slow }

func (awaitedTool) Awaited(*tool.Call) bool { return true }

// runWork runs Agent.Work and calls then after the first turn.
func runWork(ctx context.Context, t *testing.T, a *agent.Agent, then func()) (all []event.Event) {
	t.Helper()
	for e, err := range a.Work(ctx, transcript.Text{Text: "begin"}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		if _, ok := e.(event.TurnFinished); ok && countEvents[event.TurnFinished](all) == 1 {
			then()
		}
	}
	return all
}

func TestAwaitWaitsForBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, server := newSlow("work", 0), newSlow("server", 0)
		m := play(t,
			step{uses: []transcript.ToolUse{use("c1", "work", `{}`), use("c2", "server", `{}`)}},
			step{text: "both run"}, step{text: "the work is done"})
		a := newAgent(t, m, agent.Options{
			Sessions: session.New(memory.New(), nil), Tools: registry(t, awaitedTool{work}, server), Background: &agent.Background{},
		})
		events(t, a, "begin")
		came := make(chan error, 1)
		go func() { came <- a.Await(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-came:
			t.Fatalf("Await did not wait: %v", err)
		default:
		}
		work.end <- tool.Text("done")
		if err := <-came; err != nil {
			t.Fatal(err)
		}
		answerQueue(t, a)
		if err := a.Await(t.Context()); !errors.Is(err, agent.ErrNoInput) {
			t.Errorf("a server is waited for: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if err := a.Await(t.Context()); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestAwaitSeesNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := newSlow("work", 0)
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "I see"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, awaitedTool{work}), Background: &agent.Background{}})
		events(t, a, "begin")
		came := make(chan error, 1)
		go func() { came <- a.Await(t.Context()) }()
		synctest.Wait()
		if err := a.QueueNotification(t.Context(), transcript.Text{Text: "news"}); err != nil {
			t.Fatal(err)
		}
		if err := <-came; err != nil {
			t.Fatal(err)
		}
		answerQueue(t, a)
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		stop(why)
		if err := a.Await(ctx); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkBackgroundApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := newSlow("work", 0)
		store := memory.New()
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "it is done"})
		a := newAgent(t, m, agent.Options{
			Sessions: session.New(store, nil), Tools: registry(t, awaitedTool{work}), Background: &agent.Background{}, Limits: agent.Limits{MaxTurns: 3},
		})
		all := runWork(t.Context(), t, a, func() {
			go func() {
				time.Sleep(time.Minute)
				work.end <- tool.Text("done")
			}()
		})
		res := last(t, all)
		if res.Duration < time.Minute {
			t.Errorf("it took %v: the wait is not counted", res.Duration)
		}
		if countEvents[event.Result](all) != 1 || countEvents[event.TurnFinished](all) != 2 || res.Text != "it is done" || res.Turns != 3 || res.Reason != event.ReasonCompleted {
			t.Errorf("%d results, %d turns, %+v", countEvents[event.Result](all), countEvents[event.TurnFinished](all), res)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := newSlow("work", 0)
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "not any more"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, awaitedTool{work}), Background: &agent.Background{}, Limits: agent.Limits{MaxTurns: 2}})
		all := runWork(t.Context(), t, a, func() { work.end <- tool.Text("done") })
		if res := last(t, all); res.Reason != event.ReasonMaxTurns || res.Turns != 2 {
			t.Errorf("%+v", res)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkInterruptedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := newSlow("work", 0)
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, awaitedTool{work}), Background: &agent.Background{}})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		all := runWork(ctx, t, a, stop)
		if res := last(t, all); res.Reason != event.ReasonInterrupted || res.Text != "it runs" {
			t.Errorf("%+v", res)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
