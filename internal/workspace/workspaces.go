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

// Options adjusts [New]. The zero value works.
type Options struct {
	// Engine runs the containers; nil: it is looked for when it is needed first.
	Engine *engine.Engine
	// Sessions are told when their workspace is deleted; nil: nobody is.
	Sessions *session.Sessions
	Clock    func() time.Time // default time.Now
	Log      *slog.Logger     // default none
}

// Workspaces are the workspaces of one HOLDFAST_HOME. They are safe for concurrent
// use, also by several processes.
type Workspaces struct {
	home string // absolute
	opt  Options

	locks locks
	disks disks

	containers containers

	// remove stops and removes the container of a workspace; tests put in another.
	remove    func(ctx context.Context, slug string) error
	watchTime time.Duration // see the constant; tests have less

	// step is told of each step of a deletion; tests end it there.
	step func(name string) error
}

// New returns the workspaces of a home folder, an absolute path. Nothing is read, made
// or started.
func New(home string, o *Options) (*Workspaces, error) {
	if !filepath.IsAbs(home) {
		return nil, &Error{Op: "open workspaces", Path: home, Err: ErrInvalidPath, Detail: "not an absolute path", Advice: "set HOLDFAST_HOME to one"}
	}
	w := &Workspaces{home: filepath.Clean(home), watchTime: watchTime, step: func(string) error { return nil }}
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

// dirs are the places of a workspace on the host.
type dirs struct {
	Base, Home, Run, Project string
}

// dirs says where things lie; nothing is looked at.
func (w *Workspaces) dirs(s *Settings) dirs {
	base := filepath.Join(w.folder(), s.Slug)
	d := dirs{Base: base, Home: filepath.Join(base, homeName), Run: filepath.Join(base, runName), Project: s.Project}
	if d.Project == "" {
		d.Project = filepath.Join(base, projectName)
	}
	return d
}

// folder is where all workspaces lie.
func (w *Workspaces) folder() string { return filepath.Join(w.home, "workspaces") }

// Get reads the settings of a workspace. Errors: [ErrNotFound], [ErrDeleting] when it
// is half deleted, [ErrDamaged], and those of decodeSettings.
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
		return nil, deleting("read", slug)
	}
	file := filepath.Join(w.folder(), slug, settingsName)
	b, err := readRegular(dir, settingsName, maxSettings)
	switch {
	case errors.Is(err, ErrNoFile):
		return nil, deleting("read", slug)
	case errors.Is(err, ErrNotRegular), errors.Is(err, ErrTooLarge):
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: ErrDamaged, Detail: err.Error(), Advice: "put the settings back, or delete the workspace: holdfast workspace delete " + slug}
	case err != nil:
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: err}
	}
	s, err := decodeSettings(file, b)
	if err != nil {
		return nil, err
	}
	if s.Slug != slug {
		return nil, &Error{Op: "read", Slug: slug, Path: file, Err: ErrDamaged, Detail: "these are the settings of workspace " + s.Slug, Advice: "a workspace cannot be copied or renamed by its folder"}
	}
	return s, nil
}

// Entry is a workspace in a list: its settings, or why they cannot be read.
type Entry struct {
	Slug     string // the name of its folder
	Settings *Settings
	Err      error
}

// List returns all workspaces, by name. What is damaged, half deleted or no workspace
// at all is among them, with its error.
func (w *Workspaces) List(ctx context.Context) ([]Entry, error) {
	all, err := w.openAll()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer all.Close()
	entries, err := fs.ReadDir(all.FS(), ".") // by name
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
			continue // it went meanwhile
		}
		list = append(list, Entry{Slug: name, Settings: s, Err: err})
	}
	return list, nil
}

// Set changes the settings of a workspace: change is given the present ones. Its ID,
// Slug and Created stay. A container that runs keeps the old ones until it is made anew.
// It returns what the settings are now. Errors are those of Get and Create.
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
		return nil, (&problem{"slug", "the name, the id and the time of a workspace stay as they are", "make another workspace"}).error(slug)
	}
	next = next.WithDefaults()
	if err := w.usable(ctx, &next); err != nil {
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
