package client

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The event of the opening is yielded first, even if the log has hook events before it.
func TestOpenedEventIsFirst(t *testing.T) {
	f := &runFollower{starting: true}
	if got := f.holdEarly([]event.Event{event.Notice{Text: "hook"}}); got != nil {
		t.Errorf("%v comes before the opening", got)
	}
	got := f.holdEarly([]event.Event{event.Notice{Text: "before"}, event.SessionOpened{ID: "b"}, event.Notice{Text: "after"}})
	want := []event.Event{event.SessionOpened{ID: "b"}, event.Notice{Text: "hook"}, event.Notice{Text: "before"}, event.Notice{Text: "after"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, f := range []*runFollower{f, {}} {
		if got := f.holdEarly([]event.Event{event.Notice{Text: "later"}}); len(got) != 1 {
			t.Errorf("%v", got)
		}
	}
}

// The result is that of the agent or, if it has none, that of the end record.
func TestRunResult(t *testing.T) {
	first := &event.Result{Turns: 3}
	for name, tt := range map[string]struct {
		e    runEnd
		res  *event.Result
		want event.Result
		list int
		err  error
	}{
		"of the record":     {e: runEnd{Event: runCompleted, Text: "done", Cost: 0.5, Usage: &transcript.Usage{Input: 2}}, want: event.Result{SessionID: "s", Reason: event.ReasonCompleted, Text: "done", CostUSD: 0.5, Usage: transcript.Usage{Input: 2}}, list: 1},
		"of the agent":      {e: runEnd{Event: runCompleted}, res: first, want: *first, list: 1},
		"stopped elsewhere": {e: runEnd{Event: runCancelled, By: "ann"}, want: event.Result{SessionID: "s", Reason: event.ReasonInterrupted}, list: 2},
		"interrupted":       {e: runEnd{Event: runInterrupted}, err: ErrInterrupted},
	} {
		r := &Run{id: "s"}
		list := r.ended(&tt.e, tt.res)
		got, err := r.Wait(t.Context())
		if got == nil {
			got = &event.Result{}
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" || !errors.Is(err, tt.err) || len(list) != tt.list {
			t.Errorf("%s: %s %v, %d events", name, diff, err, len(list))
		}
	}
}
