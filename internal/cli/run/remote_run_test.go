package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The opening is told first, also when it is on record behind what hooks said at the start, and
// says that this command has forked the session.
func TestOpeningComesFirst(t *testing.T) {
	r := &remoteRun{target: &target{id: "b", forked: "a"}}
	if got := r.inOrder([]event.Event{event.Notice{Text: "hook"}}); got != nil {
		t.Errorf("%v comes before the opening", got)
	}
	got := r.inOrder([]event.Event{event.Notice{Text: "before"}, event.SessionOpened{ID: "b", Created: true}, event.Notice{Text: "after"}})
	want := []event.Event{event.SessionOpened{ID: "b", Forked: "a"}, event.Notice{Text: "hook"}, event.Notice{Text: "before"}, event.Notice{Text: "after"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := r.inOrder([]event.Event{event.Notice{Text: "later"}}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// The result is the agent's, or, of one that had nothing to do, what the record of the end says.
func TestResultOfARemoteRun(t *testing.T) {
	r := &remoteRun{target: &target{id: "s"}}
	got := r.ended(&wire.RunEvent{Event: wire.RunCompleted, Text: "done", Cost: 0.5, Usage: &transcript.Usage{Input: 2}})
	if got.SessionID != "s" || got.Reason != event.ReasonCompleted || got.Text != "done" || got.CostUSD != 0.5 || got.Usage.Input != 2 {
		t.Errorf("%+v", got)
	}
	if got := r.ended(&wire.RunEvent{Event: wire.RunCancelled}); got.Reason != event.ReasonInterrupted {
		t.Errorf("%+v", got)
	}
	r.result = &event.Result{Turns: 3}
	if got := r.ended(&wire.RunEvent{Event: wire.RunCompleted}); got.Turns != 3 {
		t.Errorf("%+v", got)
	}
}
