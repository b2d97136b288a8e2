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

// Choose says which session an agent restores: the one that a spec names, in the folder cwd or
// in a workspace (nil: none).
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
			err = nil // it is created, or missed later
		}
		return o, err
	}
	return o, nil
}

// projectOf is that of the sessions that an agent could continue.
func projectOf(cwd string, in *workspace.Settings) (string, error) {
	if in != nil {
		return in.SessionProject(), nil
	}
	project, _, err := project.ID(cwd)
	return project, err
}

// inProject refuses a session that is not where the run happens: one of a workspace never
// continues outside of it, and one from outside only in a fork.
func inProject(m *session.Meta, fork bool, in *workspace.Settings) error {
	slug, _, inside := workspace.OfProject(m.Project)
	switch {
	case in == nil && inside:
		return outcome.Invalid(fmt.Sprintf("session %s works in workspace %s", m.ID, slug), fmt.Sprintf("holdfast run --workspace %s -r %s PROMPT", slug, m.ID))
	case in == nil || m.Project == in.SessionProject() || fork && !inside:
		return nil
	case inside:
		return outcome.Invalid(fmt.Sprintf("session %s is not one of workspace %s, but of %s", m.ID, in.Slug, slug), "holdfast sessions list --workspace "+in.Slug)
	}
	return outcome.Invalid(fmt.Sprintf("session %s is not one of workspace %s", m.ID, in.Slug), "go on in a fork there: --fork-session")
}

func noSession(in *workspace.Settings) error {
	if in != nil {
		return &outcome.Failure{
			Message: "there is no session of workspace " + in.Slug + " to go on with", Result: outcome.NotFound,
			Advice: "start one: holdfast run --workspace " + in.Slug + " PROMPT",
		}
	}
	return &outcome.Failure{
		Message: "there is no session of this project to go on with", Result: outcome.NotFound,
		Advice: "start one: holdfast run PROMPT; or look at all: holdfast sessions list --all",
	}
}
