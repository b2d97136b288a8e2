package runs

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/hook"
)

// Fire fires a lifecycle event at the agents that there are: something has happened
// that concerns all of them, such as a change of settings.
func (r *Runs) Fire(ctx context.Context, in hook.Input) error {
	var err error
	for _, x := range r.running() {
		for _, m := range x.all() {
			_, ferr := m.agent.Fire(ctx, in)
			err = errors.Join(err, ferr)
		}
	}
	return err
}
