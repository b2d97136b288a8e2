package runs

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/hook"
)

// eventTarget is an agent that receives lifecycle events.
type eventTarget interface {
	Fire(ctx context.Context, in hook.Input) (hook.Outcome, error)
}

// Fire sends a lifecycle event, such as a settings change, to all agents that exist.
func (r *Runs) Fire(ctx context.Context, in hook.Input) error {
	var err error
	for _, x := range r.activeRuns() {
		for _, m := range x.existingAgents() {
			if f, ok := m.agent.(eventTarget); ok {
				_, ferr := f.Fire(ctx, in)
				err = errors.Join(err, ferr)
			}
		}
	}
	return err
}
