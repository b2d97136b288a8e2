package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// stopGrace is the time that processes in a container have to end before they are killed.
const stopGrace = 5 * time.Second

// Stop stops the container of a workspace with everything that runs in it, and its ephemeral ones. The container
// is kept and started again when it is needed. Stopping a stopped container does nothing.
func (w *Workspaces) Stop(ctx context.Context, slug string) error {
	h, err := w.lock(ctx, "stop", slug)
	if err != nil {
		return err
	}
	defer h.Release()
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return err
	}
	list, err := w.allContainers(ctx, e, slug)
	if err != nil {
		return err
	}
	return stopContainers(ctx, e, list)
}

// allContainers lists the containers of a workspace, including ephemeral ones. It returns [ErrForeign] if a
// container that does not belong to Holdfast has one of their names.
func (w *Workspaces) allContainers(ctx context.Context, e *engine.Engine, slug string) ([]engine.Container, error) {
	if _, err := w.workspaceContainer(ctx, e, slug); err != nil {
		return nil, err
	}
	list, err := w.listContainers(ctx, e, slug)
	if err != nil {
		return nil, &Error{Op: "list the containers of", Slug: slug, Err: err, Advice: hintOf(err)}
	}
	return list, nil
}

// StopAll stops the containers of all workspaces in parallel.
func (w *Workspaces) StopAll(ctx context.Context) error {
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return err
	}
	list, err := w.listContainers(ctx, e, "")
	if err != nil {
		return err
	}
	return stopContainers(ctx, e, list)
}

// stopContainers stops containers in parallel. A container that the engine removes when it ends may no
// longer exist then.
func stopContainers(ctx context.Context, e *engine.Engine, list []engine.Container) error {
	failed := make([]error, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() {
			err := error(nil)
			switch c.State {
			case engine.Paused: // a paused process does not receive a signal
				err = errors.Join(e.Unpause(ctx, c.ID), e.Stop(ctx, c.ID, stopGrace))
			case engine.Running, engine.Restarting:
				err = e.Stop(ctx, c.ID, stopGrace)
			}
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				failed[i] = &Error{Op: "stop", Slug: c.Labels[labelWorkspace], Err: err, Advice: hintOf(err)}
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// removeContainer removes the containers of a workspace, with everything that runs in them. The caller holds the
// workspace's lock. A workspace that never had a container needs no engine.
func (w *Workspaces) removeContainer(ctx context.Context, slug string) error {
	e, _, err := w.findEngine(ctx)
	if errors.Is(err, ErrNoEngine) {
		if _, none := os.Lstat(filepath.Join(w.folder(), slug, useName)); errors.Is(none, fs.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	list, err := w.allContainers(ctx, e, slug)
	for _, c := range list {
		if e := e.Remove(ctx, c.ID); e != nil {
			err = errors.Join(err, &Error{Op: "remove the container of", Slug: slug, Err: e, Advice: hintOf(e)})
		}
	}
	return err
}

// State is the state of a workspace's container.
type State struct {
	Name     string       `json:"name"`
	ID       string       `json:"id,omitempty"`
	State    engine.State `json:"state"` // "absent" if there is no container
	Image    string       `json:"image,omitempty"`
	Outdated bool         `json:"outdated,omitempty"` // it will be recreated on next use
	// Processes is the number of agents and commands that run in it; -1 if unknown.
	Processes int `json:"processes"`
	// Confined reports whether sessions in the container cannot reach each other. Unconfined says why not.
	Confined   bool   `json:"confined,omitempty"`
	Unconfined string `json:"unconfined,omitempty"`
}

// Absent is the state of a container that does not exist.
const Absent engine.State = "absent"

// ContainerState returns the state of a workspace's container and changes nothing.
func (w *Workspaces) ContainerState(ctx context.Context, slug string) (State, error) {
	s, err := w.Get(ctx, slug)
	if err != nil {
		return State{}, err
	}
	out := State{Name: w.containerName(slug), State: Absent}
	e, info, err := w.findEngine(ctx)
	if err != nil {
		return out, err
	}
	found, err := w.workspaceContainer(ctx, e, slug)
	if found == nil || err != nil {
		return out, err
	}
	out.ID, out.State, out.Image = found.ID, found.State, found.Image
	d := w.dirs(s)
	img, err := w.image(ctx, e, s)
	want := w.spec(s, hostFolders{home: d.Home, run: d.Run, project: d.Project}, img.ID, info)
	out.Outdated = err != nil || want.Labels[labelConfig] != found.Labels[labelConfig]
	if found.State != engine.Running {
		return out, nil
	}
	c := &Container{Slug: slug, Name: out.Name, ID: found.ID, w: w, engine: e, run: d.Run, first: found.PID}
	out.Processes = -1
	if h, err := c.ask(ctx, w.bridged()); err == nil {
		out.Processes, out.Confined, out.Unconfined = h.Processes, h.Confined, h.Unconfined
	}
	return out, nil
}
