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

// A folder with one of these prefixes is not a workspace. Either it is being created, or it is what
// remains of a deleted workspace.
const (
	stagePrefix   = ".new-"
	deletedPrefix = ".gone-"
	newPrefix     = ".new-" // of files in a workspace's folder
)

// Create creates a workspace. Its folder becomes visible complete, or not at all. ID, Created and
// the defaults are filled in. Errors: [ErrExists], [ErrDeleting] if a workspace of this name is
// half deleted, [ErrInvalid] for the settings.
func (w *Workspaces) Create(ctx context.Context, s Settings) (*Settings, error) {
	if err := CheckSlug(s.Slug); err != nil {
		return nil, err
	}
	if s.ID != "" || !s.Created.IsZero() {
		return nil, (&problem{"id", "id and created are set automatically", "remove them"}).error(s.Slug)
	}
	full := s.WithDefaults()
	full.ID, full.Created = newID(), w.opt.Clock().UTC().Truncate(time.Second)
	if err := w.checkUsable(ctx, &full); err != nil {
		return nil, err
	}
	all, err := w.makeWorkspacesFolder()
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
			return nil, existsError(s.Slug)
		}
		return nil, &Error{Op: "create", Slug: s.Slug, Err: err}
	}
	return &full, nil
}

// checkUsable checks complete settings, and the folders that they name.
func (w *Workspaces) checkUsable(ctx context.Context, s *Settings) error {
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

// otherSettings returns the readable settings of all workspaces except one.
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

// makeWorkspacesFolder opens the folder of all workspaces. It creates the folder if necessary, with access only
// for the user.
func (w *Workspaces) makeWorkspacesFolder() (*os.Root, error) {
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.folder(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	all, err := w.openWorkspacesFolder()
	if err != nil {
		return nil, err
	}
	if err := all.Chmod(".", 0o700); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// checkFree checks that no workspace has the name.
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
			Op: "create", Slug: slug, Path: filepath.Join(w.folder(), slug), Err: ErrDamaged, Detail: fileTypeText(seen.Mode()) + " instead of its folder",
			Advice: "holdfast workspace delete " + slug + " removes it, but not what it points to",
		}
	}
	if halfDeleted(all, slug) {
		return deletingError("create", slug)
	}
	return existsError(slug)
}

func existsError(slug string) error {
	return &Error{Op: "create", Slug: slug, Err: ErrExists, Advice: "holdfast workspace show " + slug}
}

func deletingError(op, slug string) error {
	return &Error{Op: op, Slug: slug, Err: ErrDeleting, Advice: "holdfast workspace delete " + slug + " completes the deletion"}
}

// halfDeleted reports whether a deletion of the workspace was started and has not finished.
func halfDeleted(all *os.Root, slug string) bool {
	_, err := all.Lstat(slug + "/" + deletingName)
	if err == nil {
		return true
	}
	_, err = all.Lstat(slug + "/" + settingsName)
	return errors.Is(err, fs.ErrNotExist)
}

// build creates the folder under a temporary name, and renames it when it is complete.
func (w *Workspaces) build(all *os.Root, s *Settings) (err error) {
	stage := stagePrefix + s.Slug + "-" + newID()
	if err := all.Mkdir(stage, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.RemoveAll(stage)) // only created here
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

// lockStage creates the lock of a workspace that is being created. The file gets its final name
// after it is locked. An unlocked file with that name is therefore a leftover.
func lockStage(dir *os.Root) (*os.File, error) {
	const tmp = ".lock"
	f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = diskfile.TryLock(f) // the lock is free, because the file does not have its final name yet
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err := errors.Join(err, dir.Rename(tmp, lockName)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeForAgent creates a folder that belongs to the agents' user in the container.
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

// giveToAgent makes the agents' user the owner of a folder, unless the caller is that user.
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

// writeFile replaces a file (mode 0600) atomically. After a crash it has either the old content or
// all of the new content.
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

// sweepNew removes temporary files from the folder of a locked workspace.
func sweepNew(dir *os.Root) error {
	names, err := namesIn(dir)
	for _, name := range names {
		if strings.HasPrefix(name, newPrefix) {
			err = errors.Join(err, dir.Remove(name))
		}
	}
	return err
}

// sweep removes the leftovers of unfinished creates and deletes. What cannot be removed is left for
// the next call.
func (w *Workspaces) sweep(ctx context.Context, all *os.Root) {
	names, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return
	}
	for _, entry := range names {
		name := entry.Name()
		if strings.HasPrefix(name, deletedPrefix) || strings.HasPrefix(name, stagePrefix) && abandoned(all, name) {
			if _, err := removeTree(ctx, all, name); err != nil {
				w.opt.Log.Warn("cannot remove the leftover of a workspace", "folder", name, "error", err)
			}
		}
	}
}

// abandoned reports whether the process that was creating a folder has ended.
func abandoned(all *os.Root, name string) bool {
	dir, err := openFolder(all, name)
	if err != nil {
		return errors.Is(err, ErrNotRegular)
	}
	defer dir.Close()
	seen, err := dir.Lstat(lockName)
	if errors.Is(err, fs.ErrNotExist) { // the other process has just begun, or has just ended
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
