package command

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// OpenWorkspace opens a workspace for an agent of this kind. If the kind is "", it uses the kind in
// the settings of the workspace. The caller closes it.
func OpenWorkspace(ctx context.Context, p *Program, slug, kind string) (*compose.Workspace, error) {
	if err := workspace.CheckSlug(slug); err != nil {
		return nil, err
	}
	all, err := OpenWorkspaces(p, nil)
	if err != nil {
		return nil, err
	}
	in, err := compose.OpenWorkspace(ctx, all, slug, kind)
	if err != nil {
		_ = all.Close()
	}
	return in, err
}

// OpenWorkspaces opens the workspaces of this home. With a store, changes to workspaces are
// recorded in their sessions.
func OpenWorkspaces(p *Program, sessions *session.Sessions) (*workspace.Workspaces, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return workspace.New(home, &workspace.Options{Sessions: sessions, Clock: p.Clock})
}

// WithWorkspaces calls do with the workspaces of this home.
func WithWorkspaces(p *Program, do func(*workspace.Workspaces) error) error {
	w, err := OpenWorkspaces(p, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}
