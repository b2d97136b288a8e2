package approvals

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// settingsOf returns the location of the settings for the request's run.
func settingsOf(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Request) (saverule.Target, error) {
	return saverule.TargetOf(ctx, s, q.Session, func(ctx context.Context, slug string) (string, error) {
		all, err := command.OpenWorkspaces(p, s)
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

// saveRule returns what an answer with --always saves, or nil without --always.
func saveRule(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Request, a *approval.Answer) (*saverule.Plan, error) {
	if a.SaveTo == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	place, err := settingsOf(ctx, p, s, q)
	if err != nil {
		return nil, err
	}
	return saverule.NewPlan(p.Environment(), place, q, a)
}

// savePreview returns what --always would save, as far as it is known before the answer.
func savePreview(ctx context.Context, p *command.Program, s *session.Sessions, q *approval.Request) *savedrule.Preview {
	if q.OnceOnly() {
		return nil
	}
	place, err := settingsOf(ctx, p, s, q)
	if err != nil {
		return &savedrule.Preview{Refused: err.Error()}
	}
	return saverule.Preview(p.Environment(), place, q)
}

// printSavePreview prints the rules that --always would save and their files.
func printSavePreview(p *term.Printer, a *savedrule.Preview) {
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
