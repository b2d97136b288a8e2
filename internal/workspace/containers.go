package workspace

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// containers is what [Workspaces] knows of the engine.
type containers struct {
	mu     sync.Mutex
	engine *engine.Engine // nil until it is needed first
	info   *engine.Info
	found  bool // the engine is ours to close
	bridge bool // sockets do not reach into containers

	proxies egressProxies
}

// find gives the engine and what it says about itself. An engine that was there once is
// not looked for again: calls to one that is gone say so.
func (w *Workspaces) find(ctx context.Context) (*engine.Engine, engine.Info, error) {
	if e, info := w.cached(); info != nil {
		return e, *info, nil
	}
	release, err := w.locks.take(ctx, "the engine") // which is no slug; one that hangs is waited for by who wants to
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
			return nil, engine.Info{}, ofEngine(err)
		}
	}
	said, err := e.Info(ctx)
	if err != nil {
		return nil, engine.Info{}, ofEngine(err)
	}
	if said.Unusable != "" {
		return nil, engine.Info{}, &Error{Op: "use " + said.Name, Err: ErrNoEngine, Detail: said.Unusable, Advice: said.Advice}
	}
	w.containers.mu.Lock()
	defer w.containers.mu.Unlock()
	w.containers.info = &said
	return e, said, nil
}

// cached is what was found before; each is nil when it was not.
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

// ofEngine says an error of the engine that is about no workspace.
func ofEngine(err error) error {
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

// Close gives the connections to the engine back. Containers run on.
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

// list finds the containers of this HOLDFAST_HOME, or of one of its workspaces.
func (w *Workspaces) list(ctx context.Context, e *engine.Engine, slug string) ([]engine.Container, error) {
	labels := map[string]string{labelHome: w.homeHash()}
	if slug != "" {
		labels[labelWorkspace] = slug
	}
	list, err := e.List(ctx, labels)
	return slices.DeleteFunc(list, func(c engine.Container) bool { return !w.isOurs(c) }), ofEngine(err)
}

// isOurs reports whether a container with our labels is ours. An image that somebody made
// of one of our containers has them as well, and so has what is run of it: ours have our
// name, or, when they were renamed, what is ours mounted in them.
func (w *Workspaces) isOurs(c engine.Container) bool {
	if slug := c.Labels[labelWorkspace]; CheckSlug(slug) == nil && (c.Name == w.containerName(slug) || w.isEphemeral(c)) {
		return true
	}
	return slices.ContainsFunc(c.Mounts, func(source string) bool {
		return below(source, w.folder(), '/') || below(source, resolved(w.folder()), '/')
	})
}

// isEphemeral reports whether a container was made by EnsureEphemeral. The label alone
// does not say that: an image may have it.
func (w *Workspaces) isEphemeral(c engine.Container) bool {
	slug, id := c.Labels[labelWorkspace], c.Labels[labelEphemeral]
	return CheckSlug(slug) == nil && CheckSlug(id) == nil && c.Name == w.containerName(slug)+"."+id
}

// ownContainer looks at the container of a workspace. It is [ErrForeign] when something that
// is not ours has its name, and nil when there is none.
func (w *Workspaces) ownContainer(ctx context.Context, e *engine.Engine, slug string) (*engine.Container, error) {
	name := w.containerName(slug)
	c, err := e.Inspect(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Op: "look at the container of", Slug: slug, Err: err}
	}
	if c.Labels[labelHome] != w.homeHash() || c.Labels[labelWorkspace] != slug {
		return nil, &Error{
			Op: "look at the container of", Slug: slug, Err: ErrForeign, Detail: name + " has not the labels that holdfast gives",
			Advice: "look at it with docker inspect " + name + ", and rename or remove it if it is not needed",
		}
	}
	return &c, nil
}
