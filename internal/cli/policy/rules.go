package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

func (c *addCmd) Run(_ context.Context, p *command.Program) error {
	before, _, err := c.open(p)
	if err != nil {
		return err
	}
	if err := c.checkRule(p, before); err != nil {
		return err
	}
	k, err := saverule.WriteRule(p.Environment(), saverule.Target{Folder: c.CWD}, c.Layer(), policy.Effect(c.effect), c.Rule)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(k, p.Out.TTY)
	}
	p.Err.Line("%s", term.Escape(k.String()))
	if !k.Counts {
		p.Warn("%s", command.NotTrusted)
	}
	return nil
}

// open loads the settings for a change.
func (f *ruleFlags) open(p *command.Program) (before *settings.Settings, home string, err error) {
	if err := dial.RefuseInsideRun(p, "change rules"); err != nil {
		return nil, "", err
	}
	if home, err = p.Home(); err != nil {
		return nil, "", err
	}
	before, err = p.FolderSettings(f.CWD)
	return before, home, err
}

// checkRule rejects a rule that would make the file invalid, and warns about a rule that has no
// effect.
func (c *addCmd) checkRule(p *command.Program, s *settings.Settings) error {
	text := fmt.Sprintf(`{"permissions": {%q: [%s]}}`, c.effect, settings.Quote(c.Rule))
	problems, err := loadWithProblems(&settings.Options{Cwd: s.Project, User: p.UserHome(), Files: []string{text}, FlagsOnly: true})
	if err != nil {
		return err
	}
	for _, q := range problems {
		if q.Fatal {
			return outcome.Invalid(q.Detail, q.Hint)
		}
		p.Warn("%s", strings.Join([]string{q.Detail, q.Hint}, "; "))
	}
	return nil
}

func (c *forgetCmd) Run(_ context.Context, p *command.Program) error {
	before, home, err := c.open(p)
	if err != nil {
		return err
	}
	var layers []string
	for _, l := range before.Layers {
		target := l.Layer == layernames.Local && !c.Project && !c.User || l.Layer == layernames.Project && !c.Local && !c.User || l.Layer == layernames.User && !c.Local && !c.Project
		if target && slices.ContainsFunc(before.Rules, func(r policy.RuleSource) bool { return r.Text == c.Rule && r.File == l.File }) {
			layers = append(layers, l.Layer)
		}
	}
	switch len(layers) {
	case 0:
		return &outcome.Failure{Message: fmt.Sprintf("your settings files do not contain the rule %q", c.Rule), Result: outcome.NotFound, Advice: "list all rules with their files: holdfast policy show"}
	case 1:
	default:
		return outcome.Invalid(fmt.Sprintf("rule %q is in several files: %s", c.Rule, strings.Join(layers, ", ")), "choose one with --"+strings.Join(layers, " or --"))
	}
	k := saverule.Rule{Rule: c.Rule, Result: command.Written{
		Layer: layers[0], Changed: true, Counts: true, File: settings.LayerFile(layers[0], before.Project, home),
	}}
	if k.Effects, err = settings.RemoveRule(k.Layer, k.File, c.Rule); err != nil {
		return err
	}
	if _, err := p.SettingsAfter(c.CWD, before, k.File); err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(k, p.Out.TTY)
	}
	p.Err.Line("%s", term.Escape(k.String()))
	return nil
}
