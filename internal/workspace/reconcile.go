package workspace

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Reconciled is what [Workspaces.Reconcile] found. Names are those of containers.
type Reconciled struct {
	Kept     []string // of workspaces that are there
	Removed  []string // nobody's any more, and nobody worked in them
	Busy     []string // nobody's any more, and somebody may work in them
	Problems []error  // what could not be looked at or removed
}

// Reconcile brings the containers and the workspaces together, for when a daemon
// starts: containers of workspaces that are not there any more, or that have another
// name than theirs, and ephemeral ones whose process has ended, are removed, unless
// somebody works in them. Containers that are not of this HOLDFAST_HOME are never
// touched, nor those that only have our labels, as what is run of an image that was
// made of one of ours. The error is that of an engine that cannot be asked.
func (w *Workspaces) Reconcile(ctx context.Context) (*Reconciled, error) {
	e, _, err := w.find(ctx)
	if err != nil {
		return nil, err
	}
	list, err := w.list(ctx, e, "")
	if err != nil {
		return nil, err
	}
	out := &Reconciled{}
	ephemeral := map[string][]engine.Container{}
	for _, c := range list {
		slug := c.Labels[labelWorkspace]
		if w.isEphemeral(c) {
			ephemeral[slug] = append(ephemeral[slug], c)
			continue
		}
		out.one(c, func() (bool, bool, error) { return w.orphan(ctx, e, c, slug) })
	}
	known, err := w.List(ctx)
	out.problem(err)
	for _, l := range known {
		ephemeral[l.Slug] = append(ephemeral[l.Slug], nil...) // folders may be left over
	}
	for slug, list := range ephemeral {
		removed, err := w.dropEphemeral(ctx, e, slug, list)
		out.Removed = append(out.Removed, removed...)
		out.problem(err)
	}
	return out, nil
}

func (r *Reconciled) problem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err)
	}
}

func (r *Reconciled) one(c engine.Container, look func() (orphan, removed bool, err error)) {
	orphan, removed, err := look()
	switch {
	case removed:
		r.Removed = append(r.Removed, c.Name)
	case orphan:
		r.Busy = append(r.Busy, c.Name)
	default:
		r.Kept = append(r.Kept, c.Name)
	}
	r.problem(err)
}

// orphan looks whether a container has no workspace, and removes it then when nobody
// works in it. A workspace that is damaged is there.
func (w *Workspaces) orphan(ctx context.Context, e *engine.Engine, c engine.Container, slug string) (orphan, removed bool, err error) {
	if CheckSlug(slug) == nil && c.Name == w.containerName(slug) {
		// One that is made of this name meanwhile gets a container of its own.
		s, err := w.Get(ctx, slug)
		if err == nil && c.Labels[labelID] == s.ID || errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer) || errors.Is(err, ErrDeleting) {
			return false, false, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, false, err
		}
	}
	if c.State == engine.Running || c.State == engine.Paused {
		idle, err := w.idle(ctx, e, c)
		if !idle {
			return true, false, err
		}
	}
	err = e.Remove(ctx, c.ID)
	return true, err == nil, err
}

// idle asks the supervisor of a container, whose folders may be gone, whether anything
// runs. One that cannot be asked may be busy.
func (w *Workspaces) idle(ctx context.Context, e *engine.Engine, c engine.Container) (bool, error) {
	if c.State == engine.Paused {
		return true, nil
	}
	asked := &Container{ID: c.ID, Name: c.Name, w: w, engine: e}
	h, err := asked.ask(ctx, true)
	if err != nil {
		return false, &Error{Op: "reconcile", Err: err, Detail: c.Name + " is nobody's, and does not say whether it is idle", Advice: "docker rm -f " + c.Name}
	}
	return h.Processes == 0, nil
}
