package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestForkResumesSubagentForks(t *testing.T) {
	a := play(t, step{text: "first"}, step{text: "second"})
	kinds := map[string]*fake{"a": a}
	h := newSubagentEnv(t, agent.Options{}, []step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", "")}}, {text: "done"}}, kinds, kind("a"))
	prompt(t, h.parent, "begin")
	child := h.children()[0]
	o := agent.Options{Sessions: h.sessions, Session: session.RestoreOptions{SessionID: h.parent.SessionID(), Fork: true}}
	fork := newSubagentEnv(t, o, []step{{uses: []transcript.ToolUse{delegate("c2", "a", "go on", `,"resume":"`+child.ID+`"`)}}, {text: "done"}}, kinds, kind("a"))
	prompt(t, fork.parent, "begin")
	if text, isError := resultText(t, fork.parent, "c2"); isError || !strings.HasPrefix(text, "second") {
		t.Errorf("%v %q", isError, text)
	}
	forked := fork.children()
	if len(forked) != 1 || forked[0].Parent != child.ID {
		t.Errorf("children of the fork: %+v", forked)
	}
	if again, err := h.sessions.Get(t.Context(), child.ID); err != nil || again.Head != child.Head {
		t.Errorf("the child was written to: %+v %v", again, err)
	}
	stranger := newSubagentEnv(t, agent.Options{Sessions: h.sessions}, []step{{uses: []transcript.ToolUse{delegate("c3", "a", "go on", `,"resume":"`+child.ID+`"`)}}, {text: "done"}}, kinds, kind("a"))
	prompt(t, stranger.parent, "begin")
	if text, isError := resultText(t, stranger.parent, "c3"); !isError || !strings.Contains(text, "not a sub-agent of this session") {
		t.Errorf("%v %q", isError, text)
	}
}

// A fork does not have the background tasks of its parent session. It is notified of the calls that run
// there, with the sub-agents that it can resume. Both sessions continue independently.
func TestForkDuringBackgroundSubagents(t *testing.T) {
	let, asked := make(chan struct{}), make(chan struct{}, 2)
	hangs := func(context.Context) {
		asked <- struct{}{}
		<-let
	}
	behind, front := play(t, step{text: "from behind", during: hangs}, step{text: "again"}), play(t, step{text: "from the front", during: hangs}, step{text: "again"})
	kinds := map[string]*fake{"a": behind, "b": front}
	h := newSubagentEnv(t, agent.Options{Background: &agent.Background{}}, []step{
		{uses: []transcript.ToolUse{delegate("c1", "a", "go", `,"run_in_background":true`)}},
		{text: "it runs"},
		{uses: []transcript.ToolUse{delegate("c2", "b", "go", "")}},
		{text: "done"},
		{text: "I see"},
	}, kinds, kind("a"), kind("b"))
	prompt(t, h.parent, "begin")
	over := make(chan *event.Result)
	go func() {
		res, _ := h.parent.Prompt(t.Context(), "and the other")
		over <- res
	}()
	<-asked
	<-asked
	if err := h.parent.QueueNotification(t.Context(), transcript.Text{Text: "the house is on fire"}); err != nil {
		t.Fatal(err)
	}
	worker := map[string]string{}
	begun, err := h.sessions.Children(t.Context(), h.parent.SessionID())
	if err != nil || len(begun) != 2 {
		t.Fatalf("%+v %v", begun, err)
	}
	for _, b := range begun {
		_, use, err := h.sessions.StartedBy(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		worker[use] = b.ID
	}
	o := agent.Options{Sessions: h.sessions, Session: session.RestoreOptions{SessionID: h.parent.SessionID(), Fork: true}}
	for range 2 { // on resume it is not notified again
		fork := newSubagentEnv(t, o, []step{{text: "so"}}, kinds, kind("a"), kind("b"))
		prompt(t, fork.parent, "what now?")
		if text, isError := resultText(t, fork.parent, "c2"); !isError || !strings.Contains(text, worker["c2"]) {
			t.Errorf("of the call that its turn waits for: %v %q", isError, text)
		}
		_, notes := answersOf(fork.parent.Snapshot().Items, "")
		slices.Sort(notes)
		if len(notes) != 2 || !strings.Contains(notes[0], "c1") || !strings.Contains(notes[0], worker["c1"]) || notes[1] != "the house is on fire" {
			t.Errorf("the fork was notified: %q", notes)
		}
		o.Session = session.RestoreOptions{SessionID: fork.parent.SessionID()}
		if err := fork.parent.Close(); err != nil {
			t.Error(err)
		}
	}
	close(let)
	if res := <-over; res == nil || !strings.Contains(res.Text, "done") {
		t.Errorf("the parent: %+v", res)
	}
	if text, isError := resultText(t, h.parent, "c2"); isError || !strings.HasPrefix(text, "from the front") {
		t.Errorf("the parent reads %q", text)
	}
	fork := newSubagentEnv(t, o, []step{
		{uses: []transcript.ToolUse{delegate("d1", "a", "go on", `,"resume":"`+worker["c1"]+`"`), delegate("d2", "b", "go on", `,"resume":"`+worker["c2"]+`"`)}}, {text: "so"},
	}, kinds, kind("a"), kind("b"))
	prompt(t, fork.parent, "go on with them")
	for _, id := range []string{"d1", "d2"} {
		if text, isError := resultText(t, fork.parent, id); isError || !strings.HasPrefix(text, "again") {
			t.Errorf("%s: %v %q", id, isError, text)
		}
	}
	if n := len(fork.children()); n != 2 || len(h.children()) != 2 {
		t.Errorf("%d sub-agents of the fork, %d of the parent", n, len(h.children()))
	}
	if err := errors.Join(fork.parent.Close(), h.parent.Close()); err != nil {
		t.Error(err)
	}
}

func TestContinueSkipsSubagents(t *testing.T) {
	h := newSubagentEnv(t, agent.Options{}, []step{{uses: []transcript.ToolUse{delegate("c1", "a", "go", "")}}, {text: "done"}},
		map[string]*fake{"a": play(t, step{text: "first"})}, kind("a"))
	prompt(t, h.parent, "begin")
	id := h.parent.SessionID()
	if err := h.parent.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := h.sessions.Restore(t.Context(), session.RestoreOptions{ContinueRecent: true}); err != nil || r.Log.ID() != id {
		t.Errorf("resumes %v, want %s: %v", r, id, err)
	}
}
