package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// chooseSession finds the session that a spec names, or creates a fork of it. In Spec.Session it
// keeps only the fields that apply when the run starts: the item to go back to, the takeover and
// the title.
func (r *Runs) chooseSession(ctx context.Context, o *PrepareOptions) error {
	s := &o.Spec.Session
	if s.NoPersist {
		return &Error{
			Code: wire.CodePrepareFailed, Message: "session.no_persist is not possible in the daemon, because its runs are recorded in their sessions",
			Tip: "run it without the daemon: holdfast run --no-daemon --no-session-persistence PROMPT",
		}
	}
	switch {
	case s.Resume != "":
		m, err := r.o.Sessions.Find(ctx, s.Resume)
		if err != nil {
			return err
		}
		o.Run = m.ID
	case s.Continue:
		newest, err := r.newestSession(ctx, &o.Spec)
		if err != nil {
			return err
		}
		o.Run = newest
	case s.ID != "":
		o.Run = s.ID
	}
	rest := runspec.Session{ForkAt: s.ForkAt, Title: s.Title, Takeover: s.Takeover}
	if s.Fork {
		id, err := r.o.Sessions.Fork(ctx, o.Run, &session.ForkOptions{ItemID: s.ForkAt, Title: s.Title, User: o.Actor.Name, Grants: s.WithGrants})
		if err != nil {
			return err
		}
		o.Run, rest = id, runspec.Session{}
	}
	*s = rest
	return nil
}

// newestSession returns the newest session in the folder or workspace that the spec names.
func (r *Runs) newestSession(ctx context.Context, s *runspec.Spec) (string, error) {
	in := ""
	if s.Workspace == "" {
		id, _, err := project.ID(s.Cwd)
		if err != nil {
			return "", err
		}
		in = id
	}
	q := session.Query{Project: in, Unowned: true, Limit: 1}
	for {
		page, err := r.o.Sessions.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, m := range page.Sessions {
			if slug, _, _ := workspace.OfProject(m.Project); slug == s.Workspace {
				return m.ID, nil
			}
		}
		if q.After = page.Next; q.After == "" {
			return "", refuse(wire.CodePrepareFailed, "session.continue: this project has no session to continue")
		}
	}
}

// recordedSpec returns the spec in the form in which the start of the run records it. That record has
// separate fields for the prompt and the strategy.
func (x *run) recordedSpec() *runspec.Spec {
	s := x.opt.Spec
	s.Prompt, s.Images, s.Strategy, s.StrategyPath = "", nil, nil, ""
	return &s
}

// spec returns the spec with which a recorded run continues. A record of an older version contains
// only a few of the spec's fields.
func (p *runHistory) spec() runspec.Spec {
	was := p.started.Strategy
	s := runspec.Spec{}
	if p.started.Spec != nil {
		s = *p.started.Spec
	}
	s.Cwd, s.Workspace, s.Model, s.Limits.MaxBudgetUSD = was.Cwd, was.Workspace, was.Model, was.MaxBudgetUSD
	s.Permissions.Mode = p.modeOf(was.Mode)
	s = s.ForResume("")
	return s
}

// maskSpec masks the texts of the spec. If masking would break the spec, maskSpec
// returns an error.
func (x *run) maskSpec(s *runspec.Spec) error {
	err := s.MaskSecrets(func(text string) string {
		masked, _ := x.mask.Text(text)
		return masked
	})
	if e, ok := errors.AsType[*runspec.Error](err); ok {
		return &Error{Code: wire.CodePrepareFailed, Message: e.Field + " " + e.Message, Tip: e.Help}
	}
	return err
}

// variableNames returns the sorted names of the variables in an environment.
func variableNames(environ []string) []string {
	names := make([]string, 0, len(environ))
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
