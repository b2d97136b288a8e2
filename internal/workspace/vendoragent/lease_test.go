//go:build unix

package vendoragent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// One turn of a session runs at a time: a second one fails without starting anything, and works after the
// first has ended.
func TestOneTurnAtATime(t *testing.T) {
	s := newVendorEnv(t)
	first, second := s.agent("one", agent.Options{}), s.agent("one", agent.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	working, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for e := range first.Run(ctx, transcript.Text{Text: "wait"}) {
			if _, ok := e.(event.TextDelta); ok {
				close(working)
			}
		}
	}()
	<-working
	if got := second.turn(t, "say two"); !errors.Is(got.err, session.ErrBusy) {
		t.Errorf("%+v", got)
	}
	if calls := s.calls(); len(calls) != 1 {
		t.Errorf("started %+v", calls)
	}
	stop()
	<-ended
	first.close()
	if got := s.agent("one", agent.Options{}).turn(t, "say three"); got.err != nil || got.res.Reason != event.ReasonCompleted {
		t.Errorf("%+v", got)
	}
}
