package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// What begins with these is no workspace: one that is being made, or what is left of
// one that was deleted.
const (
	stagePrefix   = ".new-"
	deletedPrefix = ".gone-"
	newPrefix     = ".new-" // of files in a workspace's folder
)

// Create makes a workspace: its folder is there whole or not at all. ID, Created and
// what has a default are filled in. Errors: [ErrExists], [ErrDeleting] when one of this
// name is half deleted, [ErrInvalid] for the settings.
func (w *Workspaces) Create(ctx context.Context, s Settings) (*Settings, error) {
	if err := CheckSlug(s.Slug); err != nil {
		return nil, err
	}
	if s.ID != "" || !s.Created.IsZero() {
		return nil, (&problem{"id", "the id and the time are given by the workspace", "leave them out"}).error(s.Slug)
	}
	full := s.WithDefaults()
	full.ID, full.Created = newID(), w.opt.Clock().UTC().Truncate(time.Second)
	if err := w.usable(ctx, &full); err != nil {
		return nil, err
	}
	all, err := w.makeAll()
	if err != nil {
		return nil, &Error{Op: "create", Slug: s.Slug, Err: err}
	}
	defer all.Close()
	w.sweep(ctx, all)
	if err := w.checkFree(all, s.Slug); err != nil {
		return nil, err
	}
	if err := w.build(all, &full); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, exists(s.Slug)
		}
		return nil, &Error{Op: "create", Slug: s.Slug, Err: err}
	}
	return &full, nil
}

// usable checks complete settings, with the folders that they name.
func (w *Workspaces) usable(ctx context.Context, s *Settings) error {
	if err := s.Check(); err != nil {
		return err
	}
	others, err := w.otherSettings(ctx, s.Slug)
	if err != nil {
		return err
	}
	if p := w.checkPaths(s, others); p != nil {
		return p.error(s.Slug)
	}
	return nil
}

// otherSettings are the settings of all workspaces but one, as far as they can be read.
func (w *Workspaces) otherSettings(ctx context.Context, slug string) ([]Settings, error) {
	list, err := w.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []Settings
	for _, l := range list {
		if l.Slug != slug && l.Settings != nil {
			out = append(out, *l.Settings)
		}
	}
	return out, nil
}

func newID() string {
	var random [8]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// makeAll opens the folder of all workspaces, and makes it where there is none. It is
// for the user alone.
func (w *Workspaces) makeAll() (*os.Root, error) {
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.folder(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	all, err := w.openAll()
	if err != nil {
		return nil, err
	}
	if err := all.Chmod(".", 0o700); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// checkFree checks that nothing has the name.
func (w *Workspaces) checkFree(all *os.Root, slug string) error {
	seen, err := all.Lstat(slug)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Op: "create", Slug: slug, Err: err}
	}
	if !seen.IsDir() {
		return &Error{
			Op: "create", Slug: slug, Path: filepath.Join(w.folder(), slug), Err: ErrDamaged, Detail: what(seen.Mode()) + " in the place of its folder",
			Advice: "holdfast workspace delete " + slug + " takes it away, and nothing that it points to",
		}
	}
	if halfDeleted(all, slug) {
		return deleting("create", slug)
	}
	return exists(slug)
}

func exists(slug string) error {
	return &Error{Op: "create", Slug: slug, Err: ErrExists, Advice: "holdfast workspace show " + slug}
}

func deleting(op, slug string) error {
	return &Error{Op: op, Slug: slug, Err: ErrDeleting, Advice: "holdfast workspace delete " + slug + " completes that"}
}

// halfDeleted reports whether a deletion of the workspace has begun and not ended.
func halfDeleted(all *os.Root, slug string) bool {
	_, err := all.Lstat(slug + "/" + deletingName)
	if err == nil {
		return true
	}
	_, err = all.Lstat(slug + "/" + settingsName)
	return errors.Is(err, fs.ErrNotExist)
}

// build makes the folder under another name and gives it its own at last.
func (w *Workspaces) build(all *os.Root, s *Settings) (err error) {
	stage := stagePrefix + s.Slug + "-" + newID()
	if err := all.Mkdir(stage, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.RemoveAll(stage)) // only what is made here
		}
	}()
	dir, err := all.OpenRoot(stage)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := lockStage(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	parts := []string{homeName, runName}
	if s.Project == "" {
		parts = append(parts, projectName)
	}
	for _, name := range parts {
		if err := makeForAgent(dir, name); err != nil {
			return err
		}
	}
	if err := writeSettings(dir, s); err != nil {
		return err
	}
	if err := all.Rename(stage, s.Slug); err != nil {
		return err
	}
	return syncFolder(all)
}

// lockStage makes the lock of a workspace that is being made. It has its name once it
// is held: one of that name which is free was left behind.
func lockStage(dir *os.Root) (*os.File, error) {
	const tmp = ".lock"
	f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = diskfile.TryLock(f) // nobody else knows it
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err := errors.Join(err, dir.Rename(tmp, lockName)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeForAgent makes a folder that belongs to who agents are inside.
func makeForAgent(dir *os.Root, name string) error {
	if err := dir.Mkdir(name, 0o700); err != nil {
		return err
	}
	sub, err := openFolder(dir, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := sub.Chmod(".", 0o700); err != nil { // whatever the umask is
		return err
	}
	return giveToAgent(sub)
}

// giveToAgent makes a folder the agent's own, where the agent is not the caller.
func giveToAgent(dir *os.Root) error {
	uid, gid := agentUser()
	if os.Getuid() != 0 || uid == 0 {
		return nil
	}
	return dir.Lchown(".", uid, gid)
}

func writeSettings(dir *os.Root, s *Settings) error {
	b, err := s.encode()
	if err != nil {
		return err
	}
	return writeFile(dir, settingsName, b)
}

// writeFile puts a file (0600) in place at once: after a crash there is what was
// before, or all of it.
func writeFile(dir *os.Root, name string, data []byte) error {
	tmp := newPrefix + newID()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(tmp))
	}
	return syncFolder(dir)
}

// sweepNew removes what writers of files have left behind in the folder of a workspace
// that is locked.
func sweepNew(dir *os.Root) error {
	names, err := namesIn(dir)
	for _, name := range names {
		if strings.HasPrefix(name, newPrefix) {
			err = errors.Join(err, dir.Remove(name))
		}
	}
	return err
}

// sweep removes what creates and deletes that did not end have left behind. What
// cannot be removed stays for the next time.
func (w *Workspaces) sweep(ctx context.Context, all *os.Root) {
	names, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range names {
		name := entry.Name()
		if strings.HasPrefix(name, deletedPrefix) || strings.HasPrefix(name, stagePrefix) && abandoned(all, name) {
			if _, err := removeTree(ctx, all, name); err != nil {
				w.opt.Log.Warn("leftover of a workspace", "folder", name, "error", err)
			}
		}
	}
}

// abandoned reports whether nobody is at making a folder any more.
func abandoned(all *os.Root, name string) bool {
	dir, err := openFolder(all, name)
	if err != nil {
		return errors.Is(err, ErrNotRegular)
	}
	defer dir.Close()
	seen, err := dir.Lstat(lockName)
	if errors.Is(err, fs.ErrNotExist) { // it has just begun, or it ended then
		made, err := dir.Stat(".")
		return err == nil && time.Since(made.ModTime()) > time.Hour
	}
	if err != nil || !seen.Mode().IsRegular() {
		return false
	}
	f, err := dir.OpenFile(lockName, os.O_RDWR|nonBlock, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := diskfile.TryLock(f)
	return free && err == nil
}
