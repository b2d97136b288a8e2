package workspace

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/session"
)

// Options configures [New]. The zero value works.
type Options struct {
	// Engine runs the containers. If it is nil, an engine is searched for when it is first needed.
	Engine *engine.Engine
	// Sessions is where [Workspaces.Delete] records that the workspace of a session was deleted. If
	// it is nil, nothing is recorded.
	Sessions *session.Sessions
	Clock    func() time.Time // default time.Now
	Log      *slog.Logger     // default: discards
}

// Workspaces are the workspaces of one HOLDFAST_HOME. They are safe for concurrent use, also by several processes.
type Workspaces struct {
	home string // absolute
	opt  Options

	locks locks
	disks usageCache

	containers containers

	// remove stops and removes the container of a workspace; tests replace this function.
	remove    func(ctx context.Context, slug string) error
	watchTime time.Duration // default watchTime; tests use a shorter time

	// onDeleteStep is called with the name of each step of a deletion, so that tests can stop the deletion
	// there.
	onDeleteStep func(name string) error
}

// New returns the workspaces of a home folder, an absolute path. It reads, creates and starts nothing.
func New(home string, o *Options) (*Workspaces, error) {
	if !filepath.IsAbs(home) {
		return nil, &Error{Op: "open workspaces", Path: home, Err: ErrInvalidPath, Detail: "not an absolute path", Advice: "set HOLDFAST_HOME to an absolute path"}
	}
	w := &Workspaces{home: filepath.Clean(home), watchTime: watchTime, onDeleteStep: func(string) error { return nil }}
	if o != nil {
		w.opt = *o
	}
	if w.opt.Clock == nil {
		w.opt.Clock = time.Now
	}
	if w.opt.Log == nil {
		w.opt.Log = slog.New(slog.DiscardHandler)
	}
	w.remove = w.removeContainer
	return w, nil
}

// The parts of a workspace's folder.
const (
	settingsName = "workspace.json"
	homeName     = "home"
	runName      = "run"
	projectName  = "project"
	lockName     = "lock"
	deletingName = "deleting"
)

// dirs are the host paths of a workspace.
type dirs struct {
	Base, Home, Run, Project string
}

// dirs returns these paths without reading the disk.
func (w *Workspaces) dirs(s *Settings) dirs {
	base := filepath.Join(w.folder(), s.Slug)
	d := dirs{Base: base, Home: filepath.Join(base, homeName), Run: filepath.Join(base, runName), Project: s.Project}
	if d.Project == "" {
		d.Project = filepath.Join(base, projectName)
	}
	return d
}

// folder is the folder that contains all workspaces.
func (w *Workspaces) folder() string { return filepath.Join(w.home, "workspaces") }

// Get reads the settings of a workspace. Errors: [ErrNotFound], [ErrDeleting] if it is half deleted, [ErrDamaged],
// and those of decodeSettings.
func (w *Workspaces) Get(_ context.Context, slug string) (*Settings, error) {
	dir, err := w.open("read", slug)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return w.read(dir, slug)
}

// read reads the settings in a workspace's folder.
func (w *Workspaces) read(dir *os.Root, slug string) (*Settings, error) {
	if _, err := dir.Lstat(deletingName); err == nil {
		return nil, deletingError("read", slug)
	}
	file := filepath.Join(w.folder(), slug, settingsName)
	b, err := readRegular(dir, settingsName, maxSettings)
	switch {
	case errors.Is(err, ErrNoFile):
		return nil, deletingError("read", slug)
	case errors.Is(err, ErrNotRegular), errors.Is(err, ErrTooLarge):
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: ErrDamaged, Detail: err.Error(), Advice: "restore the settings, or delete the workspace: holdfast workspace delete " + slug}
	case err != nil:
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: err}
	}
	s, err := decodeSettings(file, b)
	if err != nil {
		return nil, err
	}
	if s.Slug != slug {
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: ErrDamaged, Detail: "it contains the settings of workspace " + s.Slug, Advice: "do not copy or rename the folder of a workspace; create a new workspace"}
	}
	return s, nil
}

// Entry is a workspace in a list: either its settings, or the reason why they cannot be read.
type Entry struct {
	Slug     string // the name of its folder
	Settings *Settings
	Err      error
}

// List returns all workspaces, by name. Workspaces that are damaged, half deleted or invalid are
// included with their errors.
func (w *Workspaces) List(ctx context.Context) ([]Entry, error) {
	all, err := w.openWorkspacesFolder()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer all.Close()
	entries, err := fs.ReadDir(all.FS(), ".") // sorted by name
	if err != nil {
		return nil, &Error{Op: "list", Path: w.folder(), Err: err}
	}
	var list []Entry
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, stagePrefix) || strings.HasPrefix(name, deletedPrefix) {
			continue
		}
		s, err := w.Get(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue // it was removed meanwhile
		}
		list = append(list, Entry{Slug: name, Settings: s, Err: err})
	}
	return list, nil
}

// Set changes the settings of a workspace: it calls the function change with the current settings.
// ID, Slug and Created cannot change. A running container keeps the old settings until it is
// recreated. Set returns the new settings. Errors are those of Get and Create.
func (w *Workspaces) Set(ctx context.Context, slug string, change func(*Settings) error) (*Settings, error) {
	h, err := w.lock(ctx, "set", slug)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	old, err := w.read(h.dir, slug)
	if err != nil {
		return nil, err
	}
	next := old.clone()
	if err := change(&next); err != nil {
		return nil, err
	}
	if next.ID != old.ID || next.Slug != old.Slug || !next.Created.Equal(old.Created) {
		return nil, (&problem{"slug", "the name, the id and the creation time of a workspace cannot change", "create another workspace"}).error(slug)
	}
	next = next.WithDefaults()
	if err := w.checkUsable(ctx, &next); err != nil {
		return nil, err
	}
	if next.Project == "" {
		if err := makeForAgent(h.dir, projectName); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, &Error{Op: "set", Slug: slug, Err: err}
		}
	}
	if err := errors.Join(sweepNew(h.dir), writeSettings(h.dir, &next)); err != nil {
		return nil, &Error{Op: "set", Slug: slug, Err: err}
	}
	return &next, nil
}
