package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// ephemeralName is the name of the folder that contains the folders of ephemeral containers. The
// process of each container holds a lock in its folder: when the lock is free, the container is no
// longer needed.
const ephemeralName = "ephemeral"

// EnsureEphemeral creates a container for one session of a workspace. The container keeps nothing,
// because the home folder of its agent is in memory. Close removes the container. If this process
// ends without Close, [Workspaces.Reconcile] removes it. Errors are those of [Workspaces.Ensure].
func (w *Workspaces) EnsureEphemeral(ctx context.Context, slug string) (*Container, error) {
	e, info, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	folder, s, err := w.makeEphemeral(ctx, slug)
	if err != nil {
		return nil, err
	}
	img, err := w.image(ctx, e, s)
	if err != nil {
		return nil, errors.Join(err, folder.remove(ctx))
	}
	spec := w.spec(s, hostFolders{run: filepath.Join(folder.path, runName), project: w.dirs(s).Project}, img.ID, info)
	spec.Name += "." + folder.id // this is not the container of a workspace, because a workspace name has no dot
	spec.Labels[labelEphemeral] = folder.id
	spec.Remove = true
	spec = tmpfsVolumes(spec, s, img.Volumes)
	c := &Container{Slug: slug, Name: spec.Name, Settings: *s, w: w, engine: e, run: filepath.Join(folder.path, runName)}
	release, err := w.openProxy(ctx, folder.dir, s)
	if err != nil {
		return nil, errors.Join(err, folder.remove(ctx))
	}
	c.end = func(ctx context.Context) error {
		release()
		return errors.Join(e.Remove(ctx, spec.Name), folder.remove(ctx))
	}
	if err := c.replace(ctx, spec); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ephemeral is the host folder of an ephemeral container.
type ephemeral struct {
	id, path string
	parent   *os.Root
	dir      *os.Root
	lock     *os.File
}

// makeEphemeral creates the folder, and returns the settings for which it was created.
func (w *Workspaces) makeEphemeral(ctx context.Context, slug string) (folder *ephemeral, s *Settings, err error) {
	h, err := w.lock(ctx, "start", slug)
	if err != nil {
		return nil, nil, err
	}
	defer h.Release()
	if s, err = w.ready(ctx, h, slug); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				err = &Error{Op: "start", Slug: slug, Err: err}
			}
		}
	}()
	if err := h.dir.Mkdir(ephemeralName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	folder = &ephemeral{id: newID()}
	folder.path = filepath.Join(w.folder(), slug, ephemeralName, folder.id)
	if folder.parent, err = openFolder(h.dir, ephemeralName); err != nil {
		return nil, nil, err
	}
	// The folder is created under the workspace's lock, which Reconcile also takes.
	if err = folder.parent.Mkdir(folder.id, 0o700); err == nil {
		folder.dir, err = openFolder(folder.parent, folder.id)
	}
	if err == nil {
		folder.lock, err = openLock(folder.dir)
	}
	if err == nil {
		_, err = diskfile.TryLock(folder.lock)
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if err == nil {
		err = makeForAgent(folder.dir, runName)
	}
	if err != nil {
		return nil, nil, errors.Join(err, folder.remove(ctx))
	}
	return folder, s, nil
}

// remove removes the folder.
func (o *ephemeral) remove(ctx context.Context) error {
	_, err := removeTree(context.WithoutCancel(ctx), o.parent, o.id)
	if o.lock != nil {
		_ = o.lock.Close()
	}
	if o.dir != nil {
		_ = o.dir.Close()
	}
	_ = o.parent.Close()
	if errors.Is(err, fs.ErrNotExist) { // the whole workspace was deleted meanwhile
		return nil
	}
	return err
}

// dropEphemeral removes the ephemeral containers of a workspace whose processes have ended, and their folders.
// list has all containers of the workspace.
func (w *Workspaces) dropEphemeral(ctx context.Context, e *engine.Engine, slug string, list []engine.Container) (removed []string, err error) {
	h, err := w.lock(ctx, "reconcile", slug)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	var folders *os.Root // nil: there are none
	if err == nil {
		defer h.Release()
		if folders, err = openFolder(h.dir, ephemeralName); err == nil {
			defer folders.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	var failed []error
	for _, c := range list {
		id := c.Labels[labelEphemeral]
		if folders != nil && needed(folders, id) {
			continue
		}
		if err := e.Remove(ctx, c.ID); err != nil {
			failed = append(failed, err)
			continue
		}
		removed = append(removed, c.Name)
	}
	if folders == nil {
		return removed, errors.Join(failed...)
	}
	entries, err := fs.ReadDir(folders.FS(), ".")
	failed = append(failed, err)
	for _, entry := range entries {
		if !needed(folders, entry.Name()) {
			_, err := removeTree(ctx, folders, entry.Name())
			failed = append(failed, err)
		}
	}
	return removed, errors.Join(failed...)
}

// needed reports whether the process that owns a folder runs, or may run.
func needed(folders *os.Root, id string) bool {
	if _, err := folders.Lstat(id + "/" + lockName); errors.Is(err, fs.ErrNotExist) {
		return false // a leftover, because the lock file is created while the workspace's lock is held
	}
	return !abandoned(folders, id)
}
