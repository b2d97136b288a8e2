package workspace

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The turn of an agent ends with its container, also while an approval request is pending: the request is
// withdrawn, and its command does not run.
func TestContainerEndsDuringApproval(t *testing.T) {
	x := newEngineEnv(t)
	withdrawn := make(chan struct{})
	a := x.agent(t, "one", agent.Options{Permissions: agent.Permissions{Ask: func(ctx context.Context, q approval.Request) (approval.Answer, error) {
		c, err := x.w.Ensure(t.Context(), "blog")
		if err != nil {
			t.Error(err)
			return approval.Answer{}, err
		}
		id := c.ID
		_ = c.Close()
		if err := x.e.Remove(t.Context(), id); err != nil { // as docker rm -f does
			t.Error(err)
		}
		<-ctx.Done()
		close(withdrawn)
		return approval.Answer{}, ctx.Err()
	}}})
	done := make(chan event.Result, 1)
	go func() { done <- runTurn(t, a, "run touch /work/made") }()
	select {
	case r := <-done:
		if r.Reason == event.ReasonCompleted {
			t.Errorf("%+v", r)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn continues without its container")
	}
	<-withdrawn
	m, err := x.sessions.Get(t.Context(), "one")
	if err != nil || m.OpenApprovals != 0 {
		t.Errorf("%d questions wait, %v", m.OpenApprovals, err)
	}
	for r, err := range x.sessions.Records(t.Context(), "one", session.Range{}) {
		if err != nil || r.Kind == record.KindToolStarted {
			t.Errorf("record %d %s, %v", r.Seq, r.Kind, err)
		}
	}
}
