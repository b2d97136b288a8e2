package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// Choose returns which session an agent restores, according to the spec. The agent works in the
// folder cwd or, if in is not nil, in that workspace.
func Choose(ctx context.Context, sessions *session.Sessions, s *runspec.Session, cwd string, in *workspace.Settings) (session.RestoreOptions, error) {
	o := session.RestoreOptions{
		Fork: s.Fork, ForkGrants: s.WithGrants, ItemID: s.ForkAt, Takeover: s.Takeover, SessionID: s.ID,
		Opened: session.Opened{CWD: cwd, Title: s.Title, User: env.Account()},
	}
	switch {
	case s.Resume != "":
		m, err := sessions.Find(ctx, s.Resume)
		if err != nil {
			return o, err
		}
		if err := inProject(&m, s.Fork, in); err != nil {
			return o, err
		}
		o.SessionID, o.MustExist = m.ID, true
	case s.Continue:
		project, err := projectOf(cwd, in)
		if err != nil {
			return o, err
		}
		switch newest, err := sessions.Newest(ctx, project); {
		case err != nil:
			return o, err
		case newest == "":
			return o, noSession(in)
		}
		o.ContinueRecent, o.Project = true, project
	case s.ID != "":
		o.MustExist = s.ForkAt != "" || s.Fork
		m, err := sessions.Get(ctx, s.ID)
		if err == nil {
			err = inProject(&m, s.Fork, in)
		} else if errors.Is(err, session.ErrNotFound) {
			err = nil // the session is created later, or reported as missing
		}
		return o, err
	}
	return o, nil
}

// projectOf returns the project of the sessions that an agent could continue.
func projectOf(cwd string, in *workspace.Settings) (string, error) {
	if in != nil {
		return in.SessionProject(), nil
	}
	project, _, err := project.ID(cwd)
	return project, err
}

// inProject rejects a session that cannot be continued in the given place. A session of a workspace
// cannot be continued outside of that workspace. Any other session can be continued in a workspace
// only as a fork.
func inProject(m *session.Meta, fork bool, in *workspace.Settings) error {
	slug, _, inside := workspace.OfProject(m.Project)
	switch {
	case in == nil && inside:
		return outcome.Invalid(fmt.Sprintf("session %s works in workspace %s", m.ID, slug), fmt.Sprintf("holdfast run --workspace %s -r %s PROMPT", slug, m.ID))
	case in == nil || m.Project == in.SessionProject() || fork && !inside:
		return nil
	case inside:
		return outcome.Invalid(fmt.Sprintf("session %s belongs to workspace %[3]s, not %[2]s", m.ID, in.Slug, slug), "holdfast sessions list --workspace "+in.Slug)
	}
	return outcome.Invalid(fmt.Sprintf("session %s does not belong to workspace %s", m.ID, in.Slug), "use --fork-session to continue it there")
}

func noSession(in *workspace.Settings) error {
	if in != nil {
		return &outcome.Failure{
			Message: "workspace " + in.Slug + " has no session to resume", Result: outcome.NotFound,
			Advice: "start one: holdfast run --workspace " + in.Slug + " PROMPT",
		}
	}
	return &outcome.Failure{
		Message: "this project has no session to resume", Result: outcome.NotFound,
		Advice: "start one: holdfast run PROMPT; or list all: holdfast sessions list --all",
	}
}
