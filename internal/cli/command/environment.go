package command

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// Environment returns the environment of the command line, from which runs are composed.
func (p *Program) Environment() *env.Env {
	return &env.Env{Vars: p.Env, Getwd: p.Getwd, Managed: p.Managed, Clock: p.Clock, Commands: p.CommandEnv, Notify: p.printNotice}
}

// printNotice prints a notice with its hint.
func (p *Program) printNotice(n env.Notice) {
	p.Warn("%s", n.Text)
	if n.Hint != "" {
		p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(n.Hint))
	}
}

// OpenStore opens the store at a URL and returns its sessions and a function that closes the store.
func (p *Program) OpenStore(ctx context.Context, url string) (*session.Sessions, func(), error) {
	return p.OpenStoreOptions(ctx, url, nil)
}

// OpenStoreOptions is [Program.OpenStore] with options.
func (p *Program) OpenStoreOptions(ctx context.Context, url string, with *stores.Options) (*session.Sessions, func(), error) {
	s, err := stores.Open(ctx, p.Environment(), url, with)
	if err != nil {
		return nil, nil, err
	}
	return s.Sessions, s.Close, nil
}
