package approvals

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/keep"
	"github.com/holdfast-dev/holdfast/internal/lasting"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// placeOf is where the settings of a question's run are.
func placeOf(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Question) (keep.Place, error) {
	return keep.PlaceOf(ctx, s, q.Session, func(ctx context.Context, slug string) (string, error) {
		all, err := command.OpenSpaces(p, s)
		if err != nil {
			return "", err
		}
		defer all.Close()
		w, err := all.Get(ctx, slug)
		if err != nil {
			return "", err
		}
		return all.ProjectFolder(w), nil
	})
}

// keeping is what an answer with --always writes; nil for one without.
func keeping(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Question, a *approval.Answer) (*keep.Plan, error) {
	if a.Always == "" {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	place, err := placeOf(ctx, p, s, q)
	if err != nil {
		return nil, err
	}
	return keep.NewPlan(p.Environment(), place, q, a)
}

// offer is what --always would write, as far as that is known.
func offer(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Question) *lasting.Offer {
	if q.Once() {
		return nil
	}
	place, err := placeOf(ctx, p, s, q)
	if err != nil {
		return &lasting.Offer{Refused: err.Error()}
	}
	return keep.Offer(p.Environment(), place, q)
}

// printAlways says which rules --always would write, and into which files.
func printAlways(p *term.Printer, a *lasting.Offer) {
	if a == nil || len(a.Files) == 0 || len(a.Rules)+len(a.Hosts) == 0 && a.Path == "" {
		return
	}
	name := "always "
	line := func(text string) {
		p.Line("  %s  %s", p.Dim(name), term.EscapeStrict(text))
		name = "       "
	}
	for _, r := range a.Rules {
		line(question.ScopeText(r))
	}
	if a.Path != "" {
		line("commands may write " + a.Path)
	}
	if len(a.Hosts) > 0 {
		line("commands may connect to " + strings.Join(a.Hosts, " at "))
	}
	for _, f := range a.Files {
		line("--always " + f.Layer + " writes " + f.File)
	}
}
