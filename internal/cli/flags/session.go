package flags

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/session"
)

// With opens the store, finds the session and calls do.
func (a SessionArg) With(ctx context.Context, p *command.Program, url string, do func(*session.Sessions, session.Meta) error) error {
	return a.WithOpening(ctx, p, url, nil, do)
}

// WithOpening is With for a store that is opened in a certain way.
func (a SessionArg) WithOpening(ctx context.Context, p *command.Program, url string, o *stores.Options, do func(*session.Sessions, session.Meta) error) error {
	sessions, closeStore, err := p.OpenStoreWith(ctx, url, o)
	if err != nil {
		return err
	}
	defer closeStore()
	m, err := sessions.Find(ctx, a.Session)
	if err != nil {
		return err
	}
	return do(sessions, m)
}

// OfRun is With for the session whose log has the policy: of a sub-agent, that of its run.
func (a SessionArg) OfRun(ctx context.Context, p *command.Program, url string, do func(*session.Sessions, session.Meta) error) error {
	return a.With(ctx, p, url, func(s *session.Sessions, m session.Meta) error {
		m, err := policylog.Of(ctx, s, m)
		if err != nil {
			return err
		}
		return do(s, m)
	})
}
