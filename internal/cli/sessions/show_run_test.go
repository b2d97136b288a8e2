package sessions

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func TestRunText(t *testing.T) {
	for _, c := range []struct {
		event wire.RunEvent
		want  string
	}{
		{wire.RunEvent{Event: wire.RunStarted, Segment: 1, By: "ann", Via: "http", Input: "do\n  it"}, "started by ann via http: do it"},
		{wire.RunEvent{Event: wire.RunStarted, Segment: 2, Resumed: true}, "continued (2)"},
		{wire.RunEvent{Event: wire.RunStarted, Segment: 1, Resumed: true, By: "ann"}, "continued by ann"},
		{wire.RunEvent{Event: wire.RunSteered, By: "bob", Text: "faster"}, "steered by bob: faster"},
		{wire.RunEvent{Event: wire.RunInputAsked, Agent: "a", Text: "which?"}, "a asks: which?"},
		{wire.RunEvent{Event: wire.RunInputGiven, Agent: "a", By: "bob", Text: "that"}, "input for a by bob: that"},
		{wire.RunEvent{Event: wire.RunStepFailed, Step: "0", Agent: "a", Message: "no model"}, "step 0 of a failed: no model"},
		{wire.RunEvent{Event: wire.RunFailed, Message: "no model"}, "failed: no model"},
		{wire.RunEvent{Event: wire.RunCancelled, By: "bob"}, "cancelled by bob"},
		{wire.RunEvent{Event: wire.RunStepStarted, Step: "0", Input: "x"}, ""},
		{wire.RunEvent{Event: wire.RunRelayed, Session: "s.a", From: 1, To: 2}, ""},
	} {
		b, err := json.Marshal(c.event)
		if err != nil {
			t.Fatal(err)
		}
		if got := runText(session.Record{Kind: record.KindRunEvent, Payload: b}); got != c.want {
			t.Errorf("%s: %q, want %q", b, got, c.want)
		}
	}
	for _, r := range []session.Record{{Kind: record.KindRunEvent}, {Kind: record.KindRunEvent, Payload: []byte(`[]`)}, {Kind: session.KindItem, Payload: []byte(`{"event":"started"}`)}} {
		if got := runText(r); got != "" {
			t.Errorf("%s: %q", r.Kind, got)
		}
	}
}
