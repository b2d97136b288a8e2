package workspace

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Reconciled is the result of [Workspaces.Reconcile]. Names are container names.
type Reconciled struct {
	Kept     []string // of existing workspaces
	Removed  []string // without a workspace, and idle
	Busy     []string // without a workspace, but possibly in use
	Problems []error  // why containers could not be inspected or removed
}

// Reconcile matches the containers with the workspaces; a daemon calls it when it starts. It
// removes idle containers whose workspace no longer exists, containers whose name is not the one of
// their workspace, and ephemeral containers whose process has ended. It never changes containers of
// another HOLDFAST_HOME, or containers that have Holdfast's labels only because their image was
// made from one of its containers. It returns an error if the engine cannot be queried.
func (w *Workspaces) Reconcile(ctx context.Context) (*Reconciled, error) {
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := w.listContainers(ctx, e, "")
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
		out.add(c, func() (bool, bool, error) { return w.removeOrphan(ctx, e, c, slug) })
	}
	known, err := w.List(ctx)
	out.addProblem(err)
	for _, l := range known {
		ephemeral[l.Slug] = append(ephemeral[l.Slug], nil...) // leftover folders without a container
	}
	for slug, list := range ephemeral {
		removed, err := w.dropEphemeral(ctx, e, slug, list)
		out.Removed = append(out.Removed, removed...)
		out.addProblem(err)
	}
	return out, nil
}

func (r *Reconciled) addProblem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err)
	}
}

func (r *Reconciled) add(c engine.Container, look func() (orphan, removed bool, err error)) {
	orphan, removed, err := look()
	switch {
	case removed:
		r.Removed = append(r.Removed, c.Name)
	case orphan:
		r.Busy = append(r.Busy, c.Name)
	default:
		r.Kept = append(r.Kept, c.Name)
	}
	r.addProblem(err)
}

// removeOrphan checks whether a container belongs to no workspace. If so, and if it is idle, removeOrphan
// removes it. A damaged workspace still exists.
func (w *Workspaces) removeOrphan(ctx context.Context, e *engine.Engine, c engine.Container, slug string) (orphan, removed bool, err error) {
	if CheckSlug(slug) == nil && c.Name == w.containerName(slug) {
		// A workspace that is created under this name meanwhile gets another container.
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

// idle asks the supervisor of a container, whose folders may be gone, whether any process runs. If
// the supervisor does not answer, the container may be in use.
func (w *Workspaces) idle(ctx context.Context, e *engine.Engine, c engine.Container) (bool, error) {
	if c.State == engine.Paused {
		return true, nil
	}
	asked := &Container{ID: c.ID, Name: c.Name, w: w, engine: e}
	h, err := asked.ask(ctx, true)
	if err != nil {
		return false, &Error{Op: "reconcile", Err: err, Detail: c.Name + " has no workspace and does not report whether it is idle", Advice: "docker rm -f " + c.Name}
	}
	return h.Processes == 0, nil
}
