package command

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// OpenSpace opens a workspace for an agent of a kind; "" is the one of its settings. The
// caller closes it.
func OpenSpace(ctx context.Context, p *Program, slug, kind string) (*compose.Space, error) {
	if err := workspace.CheckSlug(slug); err != nil {
		return nil, err
	}
	all, err := OpenSpaces(p, nil)
	if err != nil {
		return nil, err
	}
	in, err := compose.OpenSpace(ctx, all, slug, kind)
	if err != nil {
		_ = all.Close()
	}
	return in, err
}

// OpenSpaces opens the workspaces of this home. With a store their sessions can be told
// what becomes of them.
func OpenSpaces(p *Program, sessions *session.Sessions) (*workspace.Workspaces, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return workspace.New(home, &workspace.Options{Sessions: sessions, Clock: p.Now})
}

// WithSpaces calls do with the workspaces of this home.
func WithSpaces(p *Program, do func(*workspace.Workspaces) error) error {
	w, err := OpenSpaces(p, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}
