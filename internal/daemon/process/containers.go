package process

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// reconcileContainers matches the containers to the workspaces. The daemon also works without a
// container engine. Containers keep running after the daemon ends unless StopWorkspaces is set.
func (d *parts) reconcileContainers(ctx context.Context) {
	if d.c.StopWorkspaces {
		d.onClose(func() { d.stopContainers(context.WithoutCancel(ctx)) })
	}
	d.inBackground(ctx, d.reconcile)
}

// stopContainers stops the containers of workspaces after the last run has ended.
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

// reconcile removes containers without a workspace. If there never was a workspace, it does
// nothing, and does not look for a container engine.
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
