package workspace

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// containers has what [Workspaces] has found out about the engine.
type containers struct {
	mu     sync.Mutex
	engine *engine.Engine // nil until first needed
	info   *engine.Info
	found  bool // true if the engine was opened here and must be closed here
	bridge bool // true if sockets of the host cannot be used inside containers

	proxies egressProxies
}

// findEngine returns the engine and its description. It does not search again after it has found an
// engine. If that engine is gone, calls return errors.
func (w *Workspaces) findEngine(ctx context.Context) (*engine.Engine, engine.Info, error) {
	if e, info := w.cached(); info != nil {
		return e, *info, nil
	}
	release, err := w.locks.take(ctx, "the engine") // not a workspace name; a caller waits for a slow search until ctx ends
	if err != nil {
		return nil, engine.Info{}, &Error{Op: "find a container engine", Err: err}
	}
	defer release()
	e, info := w.cached()
	if info != nil {
		return e, *info, nil
	}
	if e == nil {
		if e, err = w.connect(ctx); err != nil {
			return nil, engine.Info{}, engineError(err)
		}
	}
	got, err := e.Info(ctx)
	if err != nil {
		return nil, engine.Info{}, engineError(err)
	}
	if got.Unusable != "" {
		return nil, engine.Info{}, &Error{Op: "use " + got.Name, Err: ErrNoEngine, Detail: got.Unusable, Advice: got.Advice}
	}
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	w.containers.info = &got
	return e, got, nil
}

// cached returns the engine and its description if they were found before, otherwise nil.
func (w *Workspaces) cached() (*engine.Engine, *engine.Info) {
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	return w.containers.engine, w.containers.info
}

// connect finds the engine.
func (w *Workspaces) connect(ctx context.Context) (e *engine.Engine, err error) {
	if e = w.opt.Engine; e == nil {
		if e, err = engine.Connect(ctx, ""); err != nil {
			return nil, err
		}
	}
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	w.containers.engine, w.containers.found = e, w.opt.Engine == nil
	return e, nil
}

// engineError converts an engine error that does not concern any workspace.
func engineError(err error) error {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return &Error{Op: e.Op, Err: e.Err, Detail: e.Detail, Advice: e.Advice}
	}
	return err
}

func (w *Workspaces) bridged() bool {
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	return w.containers.bridge
}

func (w *Workspaces) setBridged() {
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	w.containers.bridge = true
}

// Close closes the connections to the engine. Containers keep running.
func (w *Workspaces) Close() error {
	c := &w.containers
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.found {
		return nil
	}
	err := c.engine.Close()
	c.engine, c.info, c.found = nil, nil, false
	return err
}

// listContainers lists the containers of this HOLDFAST_HOME, or only those of one of its workspaces.
func (w *Workspaces) listContainers(ctx context.Context, e *engine.Engine, slug string) ([]engine.Container, error) {
	labels := map[string]string{labelHome: w.homeHash()}
	if slug != "" {
		labels[labelWorkspace] = slug
	}
	list, err := e.List(ctx, labels)
	return slices.DeleteFunc(list, func(c engine.Container) bool { return !w.isHoldfasts(c) }), engineError(err)
}

// isHoldfasts reports whether a container with Holdfast's labels belongs to Holdfast. The labels
// alone do not prove this: an image that was made from such a container has them too, and so do the
// containers of that image. The container must also have the name that Holdfast gave it or, after a
// rename, its mounts.
func (w *Workspaces) isHoldfasts(c engine.Container) bool {
	if slug := c.Labels[labelWorkspace]; CheckSlug(slug) == nil && (c.Name == w.containerName(slug) || w.isEphemeral(c)) {
		return true
	}
	return slices.ContainsFunc(c.Mounts, func(source string) bool {
		return below(source, w.folder(), '/') || below(source, resolveLinks(w.folder()), '/')
	})
}

// isEphemeral reports whether EnsureEphemeral created a container. The label alone does not prove
// this, because an image may have the label too.
func (w *Workspaces) isEphemeral(c engine.Container) bool {
	slug, id := c.Labels[labelWorkspace], c.Labels[labelEphemeral]
	return CheckSlug(slug) == nil && CheckSlug(id) == nil && c.Name == w.containerName(slug)+"."+id
}

// workspaceContainer returns the container of a workspace, or nil if there is none. It returns [ErrForeign] if a
// container that is not Holdfast's has its name.
func (w *Workspaces) workspaceContainer(ctx context.Context, e *engine.Engine, slug string) (*engine.Container, error) {
	name := w.containerName(slug)
	c, err := e.Inspect(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Op: "inspect the container of", Slug: slug, Err: err}
	}
	if c.Labels[labelHome] != w.homeHash() || c.Labels[labelWorkspace] != slug {
		return nil, &Error{
			Op: "inspect the container of", Slug: slug, Err: ErrForeign, Detail: name + " does not have holdfast's labels",
			Advice: "check it with docker inspect " + name + ", and rename or remove it if it is not needed",
		}
	}
	return &c, nil
}
