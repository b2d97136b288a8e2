package saverule

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// Layers are the settings layers in which an answer can be saved, from the narrowest to the widest.
var Layers = []string{layernames.Local, layernames.Project, layernames.User}

// Target is the location of a run's settings.
type Target struct {
	Folder string // folder on this machine
	Inside bool   // the folder of a workspace; agents in the workspace see it under another path
}

// TargetOf returns the target of a session's run. The function spaces returns the folder of a
// workspace.
func TargetOf(ctx context.Context, sessions *session.Sessions, id string, spaces func(ctx context.Context, slug string) (string, error)) (Target, error) {
	m, err := sessions.Get(ctx, id)
	if err == nil && m.Owner != "" {
		m, err = sessions.Get(ctx, m.Owner)
	}
	if err != nil {
		return Target{}, err
	}
	if slug, _, ok := workspace.OfProject(m.Project); ok {
		folder, err := spaces(ctx, slug)
		return Target{Folder: folder, Inside: true}, err
	}
	folder, _, _ := strings.Cut(m.CWD, "/"+worktree.Dir+"/") // a worktree is removed, but its project remains
	if !filepath.IsAbs(folder) {
		return Target{}, outcome.Invalid("the session has no folder, so no project settings apply", "holdfast policy allow --cwd FOLDER")
	}
	return Target{Folder: folder}, nil
}

// File returns the path of a layer's settings file.
func (p Target) File(e *env.Env, layer string) (string, error) {
	home, err := e.Home()
	if err != nil {
		return "", err
	}
	if layer == layernames.User {
		return settings.LayerFile(layer, "", home), nil
	}
	dir, err := e.Folder(p.Folder)
	if err != nil {
		return "", err
	}
	project, err := settings.FindProject(dir, home)
	if err != nil {
		return "", err
	}
	file := settings.LayerFile(layer, project, home)
	if plain, err := filepath.EvalSymlinks(home); err == nil && filepath.Dir(file) == plain {
		return "", outcome.Invalid("the folder "+project+" is not a project: its .holdfast contains your user settings", "save it in the user layer")
	}
	for _, name := range []string{file, filepath.Dir(file)} {
		if info, err := os.Lstat(name); p.Inside && err == nil && info.Mode()&fs.ModeSymlink != 0 { // an agent could create such a link
			return "", outcome.Invalid(name+" is a link, which may lead out of the workspace", "remove it, or save it in the user layer")
		}
	}
	if plain, err := filepath.EvalSymlinks(dir); p.Inside && err == nil && plain != project {
		return "", outcome.Invalid(
			fmt.Sprintf("the settings of %s are in %s, which an agent in the workspace cannot see", dir, project),
			"save it in the user layer")
	}
	return file, nil
}
