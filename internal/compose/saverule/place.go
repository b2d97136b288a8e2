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

// Layers are those that a person's answer can be written into, the narrowest first.
var Layers = []string{layernames.Local, layernames.Project, layernames.User}

// Target is where the settings of a run are.
type Target struct {
	Folder string // of this machine
	Inside bool   // it is the folder of a workspace, whose agents see it under another path
}

// TargetOf is the place of a session's run. spaces returns the folder of a workspace.
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
	folder, _, _ := strings.Cut(m.CWD, "/"+worktree.Dir+"/") // a worktree is removed; its project stays
	if !filepath.IsAbs(folder) {
		return Target{}, outcome.Invalid("the session names no folder, so there are no settings for it", "holdfast policy allow --cwd FOLDER")
	}
	return Target{Folder: folder}, nil
}

// File is the settings file of a layer.
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
		return "", outcome.Invalid("the folder "+project+" is no project: its .holdfast has your own settings", "write it into those: user")
	}
	for _, name := range []string{file, filepath.Dir(file)} {
		if info, err := os.Lstat(name); p.Inside && err == nil && info.Mode()&fs.ModeSymlink != 0 { // an agent can make one
			return "", outcome.Invalid(name+" is a link, which may lead out of the workspace", "remove it, or write it into your own settings: user")
		}
	}
	if plain, err := filepath.EvalSymlinks(dir); p.Inside && err == nil && plain != project {
		return "", outcome.Invalid(
			fmt.Sprintf("the settings that apply to %s are those of %s, which an agent in the workspace does not see", dir, project),
			"write it into your own settings: user")
	}
	return file, nil
}
