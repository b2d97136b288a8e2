package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// environment is the environment of the command line: what runs are composed from.
func (p *Program) environment() *env.Env {
	return &env.Env{Vars: p.Env, Getwd: p.Getwd, Managed: p.Managed, Clock: p.Now, Commands: p.environ, Notify: p.tellNotice}
}

// tellNotice prints a notice with its hint.
func (p *Program) tellNotice(n env.Notice) {
	p.warn("%s", n.Text)
	if n.Hint != "" {
		p.err.Line("%s %s", p.err.Bold("hint:"), term.Escape(n.Hint))
	}
}

// openStore opens the store that a URL names and returns its sessions. The function it
// returns closes the store.
func (p *Program) openStore(ctx context.Context, url string) (*session.Sessions, func(), error) {
	return p.openWith(ctx, url, nil)
}

// openWith is openStore with something around it.
func (p *Program) openWith(ctx context.Context, url string, with *stores.Options) (*session.Sessions, func(), error) {
	s, err := stores.Open(ctx, p.environment(), url, with)
	if err != nil {
		return nil, nil, err
	}
	return s.Sessions, s.Close, nil
}
