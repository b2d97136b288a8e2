package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/workspace/tree"
	"github.com/holdfast-dev/holdfast/session"
)

// DeleteOptions configures [Workspaces.Delete].
type DeleteOptions struct {
	// NoEngine skips the container. Use it if the engine no longer exists.
	NoEngine bool
}

// Deleted is the result of [Workspaces.Delete].
type Deleted struct {
	Entries  int64    // files and folders removed
	Sessions int      // number of sessions in whose logs the deletion was recorded
	Notices  []string // messages for the user
}

// Delete removes a workspace: first its container, then the home of its agents and everything else
// except the settings. Then it records the deletion in the sessions, which are kept, and removes
// the settings. If it stops early, for example because of a crash, the workspace is half deleted.
// It cannot be used then, and another Delete completes the deletion. Links are removed and never
// followed. A project outside the workspace's folder stays.
//
// Errors: [ErrNotFound], [ErrNoEngine], [ErrLeftover] with the names of what could not be removed,
// session.ErrBusy if another process does not release one of the sessions.
func (w *Workspaces) Delete(ctx context.Context, slug string, o *DeleteOptions) (*Deleted, error) {
	if err := CheckSlug(slug); err != nil {
		return nil, err
	}
	if o == nil {
		o = &DeleteOptions{}
	}
	out := &Deleted{}
	if done, err := w.deleteNoFolder(ctx, slug, out); done || err != nil {
		return out, err
	}
	h, err := w.lock(ctx, "delete", slug)
	if err != nil {
		return out, err
	}
	defer h.Release()
	d := &deletion{w: w, slug: slug, dir: h.dir, o: o, out: out}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"mark", d.mark},
		{"container", d.removeContainer},
		{"folders", d.removeFolders},
		{"sessions", d.recordInSessions},
		{"settings", d.removeSettings},
	} {
		if err := step.do(ctx); err != nil {
			return out, d.stepError(step.name, err)
		}
		if err := w.onDeleteStep(step.name); err != nil {
			return out, err
		}
	}
	return out, nil
}

// deleteNoFolder removes an entry, such as a file or a link, that is in the place of a workspace's
// folder.
func (w *Workspaces) deleteNoFolder(ctx context.Context, slug string, out *Deleted) (done bool, err error) {
	all, err := w.openWorkspacesFolder()
	if errors.Is(err, fs.ErrNotExist) {
		return true, notFoundError("delete", slug)
	}
	if err != nil {
		return false, err
	}
	defer all.Close()
	w.sweep(ctx, all)
	seen, err := all.Lstat(slug)
	if err != nil || seen.IsDir() {
		return false, nil // there is a folder or nothing here; the next step reports errors
	}
	if err := w.remove(ctx, slug); err != nil {
		return false, &Error{Op: "delete", Slug: slug, Err: err, Detail: "its container must be stopped first"}
	}
	removed, err := removeTree(ctx, all, slug)
	out.Entries += removed
	if err != nil {
		return false, &Error{Op: "delete", Slug: slug, Err: err}
	}
	out.Notices = append(out.Notices, fmt.Sprintf("removed %s that was in the place of its folder, but not what it points to", fileTypeText(seen.Mode())))
	return true, nil
}

// deletion is a deletion in progress. [Workspaces.Delete] holds the workspace's lock.
type deletion struct {
	w     *Workspaces
	slug  string
	id    string // id of the workspace, or "" if it is unknown
	again bool   // true if an earlier call had already started the deletion
	dir   *os.Root
	o     *DeleteOptions
	out   *Deleted
}

func (d *deletion) stepError(step string, err error) error {
	e := &Error{Op: "delete", Slug: d.slug, Err: err, Detail: "it stopped at: " + step, Advice: "fix this and run again: holdfast workspace delete " + d.slug}
	if inner, ok := errors.AsType[*Error](err); ok {
		e.Err, e.Path = inner.Err, inner.Path
		e.Detail = inner.Detail
		if inner.Advice != "" {
			e.Advice = inner.Advice
		}
	}
	return e
}

// idText finds the id in the text of settings that cannot be parsed.
var idText = lazyregexp.Must(`"id"\s*:\s*"([0-9a-f]{16})"`)

// mark marks the workspace as deleted on disk. After this it cannot be used.
func (d *deletion) mark(context.Context) error {
	if b, err := readRegular(d.dir, settingsName, maxSettings); err == nil {
		if m := idText().FindSubmatch(b); m != nil {
			d.id = string(m[1])
		}
	}
	_, err := d.dir.Lstat(deletingName)
	if d.again = err == nil; d.again {
		return nil
	}
	err = writeFile(d.dir, deletingName, []byte(d.w.opt.Clock().UTC().Format(time.RFC3339)+"\n"))
	if err == nil {
		return nil
	}
	// On a full disk, which is a common reason for a deletion, there is still room for an empty
	// file.
	f, again := d.dir.OpenFile(deletingName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if again != nil {
		return err
	}
	return errors.Join(f.Close(), syncFolder(d.dir))
}

func (d *deletion) removeContainer(ctx context.Context) error {
	if d.o.NoEngine {
		d.out.Notices = append(d.out.Notices, "its container was not checked")
		return nil
	}
	return d.w.remove(ctx, d.slug)
}

// removeFolders removes everything in the workspace's folder except its settings.
func (d *deletion) removeFolders(ctx context.Context) error {
	names, err := namesIn(d.dir)
	if err != nil {
		return err
	}
	var all []error
	for _, name := range names {
		switch name {
		case settingsName, deletingName, lockName:
			continue
		}
		n, err := removeTree(ctx, d.dir, name)
		d.out.Entries += n
		all = append(all, err)
	}
	return errors.Join(all...)
}

// recordInSessions records the deletion in every session of the workspace.
func (d *deletion) recordInSessions(ctx context.Context) error {
	sessions := d.w.opt.Sessions
	if sessions == nil {
		return nil
	}
	if d.id == "" {
		d.out.Notices = append(d.out.Notices, "its settings have no id, so its sessions were not updated")
		return nil
	}
	s := Settings{Slug: d.slug, ID: d.id}
	q := session.Query{Project: s.SessionProject(), Worktrees: true, WithTrash: true, Limit: 500}
	var ids []string
	for {
		page, err := sessions.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Sessions {
			ids = append(ids, page.Sessions[i].ID)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	for _, id := range ids { // only now, because recording changes the order of the list
		recorded, err := d.recordDeletion(ctx, sessions, id)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if recorded {
			d.out.Sessions++
		}
	}
	return nil
}

// removeSettings removes the rest. The folder is renamed first, so that it disappears at once.
func (d *deletion) removeSettings(ctx context.Context) error {
	all, err := d.w.openWorkspacesFolder()
	if err != nil {
		return err
	}
	defer all.Close()
	name := deletedPrefix + d.slug + "-" + newID()
	if err := all.Rename(d.slug, name); err != nil {
		return err
	}
	if err := errors.Join(syncFolder(all), d.w.onDeleteStep("renamed")); err != nil {
		return err
	}
	n, err := removeTree(ctx, all, name)
	d.out.Entries += n
	return err
}

// removeTree removes an entry of a folder with everything below it, and returns the number of
// removed entries.
func removeTree(ctx context.Context, parent *os.Root, name string) (int64, error) {
	dir, err := parent.Open(".")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	removed, err := tree.Remove(ctx, dir, name)
	if left, ok := errors.AsType[*tree.RemainingError](err); ok {
		err = &Error{Op: "remove", Path: filepath.Join(parent.Name(), name), Err: ErrLeftover, Detail: left.Error(), Advice: leftoverHint(left)}
	} else if errors.Is(err, tree.ErrWriting) {
		err = &Error{Op: "remove", Path: filepath.Join(parent.Name(), name), Err: ErrWriting, Advice: "stop the processes that write there, then try again"}
	}
	return removed.Entries, err
}

// leftoverHint returns the hint for a path that could not be removed.
func leftoverHint(left *tree.RemainingError) string {
	switch {
	case errors.Is(left, tree.ErrMounted):
		return "unmount what is mounted there (umount), then try again"
	case errors.Is(left, fs.ErrPermission):
		return "it belongs to another user, or is immutable: remove it as root (chattr -i, rm), then try again"
	}
	return ""
}

// namesIn lists a folder.
func namesIn(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}
