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

// DeleteOptions adjusts [Workspaces.Delete].
type DeleteOptions struct {
	// NoEngine leaves out the container: for when its engine is gone for good.
	NoEngine bool
}

// Deleted is what became of a workspace.
type Deleted struct {
	Entries  int64    // files and folders that were removed
	Sessions int      // that were told
	Notices  []string // for a person to read
}

// Delete removes a workspace: its container first, then the home of its agents and all
// else that it keeps but the settings, then it tells the sessions (they stay), then the
// settings go. When it ends early, also by a crash, the workspace is half deleted:
// nothing uses it any more, and deleting it again completes that. Links are removed and
// never followed; a project that is a folder of its own stays.
//
// Errors: [ErrNotFound], [ErrNoEngine], [ErrLeftover] with what could not be removed,
// session.ErrBusy when somebody keeps one of the sessions.
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
		{"container", d.container},
		{"folders", d.folders},
		{"sessions", d.sessions},
		{"settings", d.settings},
	} {
		if err := step.do(ctx); err != nil {
			return out, d.failed(step.name, err)
		}
		if err := w.step(step.name); err != nil {
			return out, err
		}
	}
	return out, nil
}

// deleteNoFolder removes what stands in the place of a workspace's folder and is none.
func (w *Workspaces) deleteNoFolder(ctx context.Context, slug string, out *Deleted) (done bool, err error) {
	all, err := w.openAll()
	if errors.Is(err, fs.ErrNotExist) {
		return true, notFound("delete", slug)
	}
	if err != nil {
		return false, err
	}
	defer all.Close()
	w.sweep(ctx, all)
	seen, err := all.Lstat(slug)
	if err != nil || seen.IsDir() {
		return false, nil // there is a folder, or none, or it is said later why not
	}
	if err := w.remove(ctx, slug); err != nil {
		return false, &Error{Op: "delete", Slug: slug, Err: err, Detail: "its container is to be stopped first"}
	}
	removed, err := removeTree(ctx, all, slug)
	out.Entries += removed
	if err != nil {
		return false, &Error{Op: "delete", Slug: slug, Err: err}
	}
	out.Notices = append(out.Notices, fmt.Sprintf("there was %s in the place of its folder; it was removed, and nothing that it points to", what(seen.Mode())))
	return true, nil
}

// deletion is a deletion that is under way, under the workspace's lock.
type deletion struct {
	w     *Workspaces
	slug  string
	id    string // of the workspace, "" when nothing says it any more
	again bool   // it had begun before
	dir   *os.Root
	o     *DeleteOptions
	out   *Deleted
}

func (d *deletion) failed(step string, err error) error {
	e := &Error{Op: "delete", Slug: d.slug, Err: err, Detail: "it stopped at: " + step, Advice: "delete it again when that is mended: holdfast workspace delete " + d.slug}
	if own, ok := errors.AsType[*Error](err); ok {
		e.Err, e.Path = own.Err, own.Path
		e.Detail = own.Detail
		if own.Advice != "" {
			e.Advice = own.Advice
		}
	}
	return e
}

// idText finds the id in settings that cannot be read otherwise.
var idText = lazyregexp.Must(`"id"\s*:\s*"([0-9a-f]{16})"`)

// mark says on the disk that the workspace goes: from now on nothing uses it.
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
	// A disk that is full takes an empty file, and is why many delete something.
	f, again := d.dir.OpenFile(deletingName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if again != nil {
		return err
	}
	return errors.Join(f.Close(), syncFolder(d.dir))
}

func (d *deletion) container(ctx context.Context) error {
	if d.o.NoEngine {
		d.out.Notices = append(d.out.Notices, "its container was not looked for")
		return nil
	}
	return d.w.remove(ctx, d.slug)
}

// folders removes everything in the workspace's folder but what says what it was.
func (d *deletion) folders(ctx context.Context) error {
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

// sessions tells every session of the workspace.
func (d *deletion) sessions(ctx context.Context) error {
	sessions := d.w.opt.Sessions
	if sessions == nil {
		return nil
	}
	if d.id == "" {
		d.out.Notices = append(d.out.Notices, "its settings do not say its id any more, so its sessions were not told")
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
	for _, id := range ids { // only now: telling one changes the order of the list
		told, err := d.recordDeletion(ctx, sessions, id)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if told {
			d.out.Sessions++
		}
	}
	return nil
}

// settings removes what is left, at once for who looks: the folder gets another name
// first.
func (d *deletion) settings(ctx context.Context) error {
	all, err := d.w.openAll()
	if err != nil {
		return err
	}
	defer all.Close()
	name := deletedPrefix + d.slug + "-" + newID()
	if err := all.Rename(d.slug, name); err != nil {
		return err
	}
	if err := errors.Join(syncFolder(all), d.w.step("renamed")); err != nil {
		return err
	}
	n, err := removeTree(ctx, all, name)
	d.out.Entries += n
	return err
}

// removeTree removes a name in a folder with all below it, and says how many entries
// that were.
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
		err = &Error{Op: "remove", Path: filepath.Join(parent.Name(), name), Err: ErrWriting, Advice: "end what writes there, then try again"}
	}
	return removed.Entries, err
}

// leftoverHint says what to do about what could not be removed.
func leftoverHint(left *tree.RemainingError) string {
	switch {
	case errors.Is(left, tree.ErrMounted):
		return "umount what is mounted there, then try again"
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
