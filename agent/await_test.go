package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// part is a slow tool that is part of the work.
type part struct{ *slow }

func (part) Awaited(*tool.Call) bool { return true }

func TestAwaitWaitsForWhatIsPartOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, server := newSlow("work", 0), newSlow("server", 0)
		m := play(t,
			step{uses: []transcript.ToolUse{use("c1", "work", `{}`), use("c2", "server", `{}`)}},
			step{text: "both run"}, step{text: "the work is done"})
		a := newAgent(t, m, agent.Options{
			Sessions: session.New(memory.New(), nil), Tools: registry(t, part{work}, server), Background: agent.NewBackground(nil),
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
		if err := a.Await(t.Context()); !errors.Is(err, agent.ErrNothingToDo) {
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

func TestAwaitSeesWhatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := newSlow("work", 0)
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "I see"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, part{work}), Background: agent.NewBackground(nil)})
		events(t, a, "begin")
		came := make(chan error, 1)
		go func() { came <- a.Await(t.Context()) }()
		synctest.Wait()
		if err := a.Tell(t.Context(), transcript.Text{Text: "news"}); err != nil {
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
