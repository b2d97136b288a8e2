package flags

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/session"
)

// WithSession opens the store, finds the session and calls do.
func (a SessionArg) WithSession(ctx context.Context, p *command.Program, url string, do func(*session.Sessions, session.Meta) error) error {
	return a.WithSessionOptions(ctx, p, url, nil, do)
}

// WithSessionOptions is WithSession with options for the store.
func (a SessionArg) WithSessionOptions(ctx context.Context, p *command.Program, url string, o *stores.Options, do func(*session.Sessions, session.Meta) error) error {
	sessions, closeStore, err := p.OpenStoreOptions(ctx, url, o)
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

// WithRunSession is WithSession for the session whose log contains the policy. For a sub-agent this
// is the session of its run.
func (a SessionArg) WithRunSession(ctx context.Context, p *command.Program, url string, do func(*session.Sessions, session.Meta) error) error {
	return a.WithSession(ctx, p, url, func(s *session.Sessions, m session.Meta) error {
		m, err := sessionpolicy.PolicySession(ctx, s, m)
		if err != nil {
			return err
		}
		return do(s, m)
	})
}
