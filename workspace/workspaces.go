package workspace

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/workspace/internal/engine"
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

	// remove stops and removes the container of a workspace; tests put in another.
	remove func(ctx context.Context, slug string) error
	// step is told of each step of a deletion; tests end it there.
	step func(name string) error
}

// New returns the workspaces of a home folder, an absolute path. Nothing is read, made
// or started.
func New(home string, o *Options) (*Workspaces, error) {
	if !filepath.IsAbs(home) {
		return nil, &Error{Op: "open workspaces", Path: home, Err: ErrInvalidPath, Detail: "not an absolute path", Advice: "set HOLDFAST_HOME to one"}
	}
	w := &Workspaces{home: filepath.Clean(home), step: func(string) error { return nil }}
	if o != nil {
		w.opt = *o
	}
	if w.opt.Clock == nil {
		w.opt.Clock = time.Now
	}
	if w.opt.Log == nil {
		w.opt.Log = slog.New(slog.DiscardHandler)
	}
	w.remove = func(context.Context, string) error { return nil }
	return w, nil
}

// agentUser is who agents are inside their container: the caller, but never root.
func agentUser() (uid, gid int) {
	if uid, gid = os.Getuid(), os.Getgid(); uid == 0 {
		return 4711, 4711
	}
	return uid, gid
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
