package process

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// reconcileContainers brings the containers of workspaces together with them. Without an engine the
// daemon does all else. Containers run on when the daemon ends, unless they are to stop.
func (d *parts) reconcileContainers(ctx context.Context) {
	if d.c.StopWorkspaces {
		d.onClose(func() { d.stopContainers(context.WithoutCancel(ctx)) })
	}
	d.inBackground(ctx, d.reconcile)
}

// stopContainers stops what runs in workspaces, once no run does.
func (d *parts) stopContainers(ctx context.Context) {
	w := d.rt.Workspaces
	if list, err := w.List(ctx); err == nil && len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := w.StopAll(ctx); err != nil {
		d.c.Log.Warn("cannot stop containers", "error", err)
	}
}

// reconcile removes containers that are nobody's. There is nothing to do, and no engine
// to look for, where there was no workspace ever.
func (d *parts) reconcile(ctx context.Context) {
	w := d.rt.Workspaces
	list, err := w.List(ctx)
	if err == nil && len(list) == 0 {
		return
	}
	r, err := w.Reconcile(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, workspace.ErrNoEngine):
		d.c.Log.Warn("workspaces cannot run", "error", err)
	case err != nil:
		d.c.Log.Error("cannot check containers", "error", err)
	default:
		for _, problem := range r.Problems {
			d.c.Log.Warn("a container", "error", problem)
		}
		d.c.Log.Info("containers of workspaces", "kept", r.Kept, "removed", r.Removed, "busy", r.Busy)
	}
}
