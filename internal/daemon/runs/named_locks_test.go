package runs_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/policy"
)

// A policy change waits while an agent of the run is being created, which may take long. The caller
// can give up; the change is made afterward.
func TestPolicyChangeContext(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	making, proceed := make(chan struct{}), make(chan struct{})
	w.making = func(context.Context, runs.AgentRequest) {
		close(making)
		<-proceed
	}
	run, started := w.prepare(single()), make(chan error, 1)
	go func() { started <- w.runs.Start(t.Context(), run, "go", "", ann) }()
	<-making
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := w.runs.Change(ctx, run, policy.Change{Mode: policy.ModePlan}, ann)
		over <- err
	}()
	stop()
	if err := <-over; err == nil {
		t.Error("the change was made while an agent was being created")
	}
	close(proceed)
	w.ok(<-started)
	w.waitEnded(run)
}
