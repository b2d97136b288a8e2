package flags

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/internal/workspace"
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

// Resumes reports whether the flags select a session that can already exist. Such a session can
// have a pending answer or approval.
func (c *RunFlags) Resumes() bool { return c.Continue || c.Resume != "" || c.SessionID != "" }

// ResumedSession returns the session to resume. It returns nil if the flags name a session that
// must be created.
func (c *RunFlags) ResumedSession(ctx context.Context, sessions *session.Sessions, cwd string, in *compose.Workspace) (*session.Meta, error) {
	var space *workspace.Settings
	if in != nil {
		space = in.Settings
	}
	s := c.SessionSpec()
	o, err := compose.Choose(ctx, sessions, &s, cwd, space)
	if err != nil {
		return nil, err
	}
	if o.SessionID == "" {
		if o.SessionID, err = sessions.Newest(ctx, o.Project); err != nil {
			return nil, err
		}
		if o.SessionID == "" {
			return nil, session.ErrNotFound
		}
	}
	m, err := sessions.Get(ctx, o.SessionID)
	if errors.Is(err, session.ErrNotFound) && !o.MustExist {
		return nil, nil //nolint:nilnil // it will be created
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}
