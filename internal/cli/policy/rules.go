package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// ruleDoc says what became of a rule in a settings file.
type ruleDoc struct {
	Rule    string          `json:"rule"`
	Effects []policy.Effect `json:"effects"`
	Layer   string          `json:"layer"`
	File    string          `json:"file"`
	Line    int             `json:"line,omitempty"` // where it stands; none when it was taken out
	Changed bool            `json:"changed"`
	Counts  bool            `json:"counts"` // from the next run on
}

func (c *addCmd) Run(_ context.Context, p *command.Program) error {
	before, home, err := c.begin(p)
	if err != nil {
		return err
	}
	if err := c.usable(p, before); err != nil {
		return err
	}
	effect := policy.Effect(c.effect)
	d := ruleDoc{Rule: c.Rule, Effects: []policy.Effect{effect}, Layer: layernames.Local}
	switch {
	case c.User:
		d.Layer = layernames.User
	case c.Project:
		d.Layer = layernames.Project
	}
	d.File = settings.RuleFile(d.Layer, before.Project, home)
	if d.Line, d.Changed, err = settings.AddRule(d.Layer, d.File, effect, c.Rule); err != nil {
		return err
	}
	s, err := p.Settled(c.CWD, before)
	if err != nil {
		return err
	}
	untrusted := slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == d.File && l.Untrusted })
	d.Counts = !untrusted || effect != policy.Allow
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	word := "is"
	if !d.Changed {
		word = "was there already:"
	}
	p.Err.Line("%s %s %s %s", term.Escape(c.Rule), word, done[effect], term.Escape(d.place(before.Project)))
	if !d.Counts {
		p.Warn("it does not count yet: other settings of this folder are not trusted; look at them and run: holdfast trust")
	}
	return nil
}

var done = map[policy.Effect]string{policy.Allow: "allowed", policy.Ask: "asked about", policy.Deny: "denied"}

// place is where a rule stands, for a person.
func (d *ruleDoc) place(project string) string {
	file := d.File
	if rel, err := filepath.Rel(project, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	of := map[string]string{layernames.User: "for you, in every project", layernames.Project: "in this project, for all", layernames.Local: "in this project, for you"}[d.Layer]
	if d.Line == 0 {
		return fmt.Sprintf("%s: %s", of, file)
	}
	return fmt.Sprintf("%s: %s:%d", of, file, d.Line)
}

// begin loads the settings as they are.
func (f *ruleFlags) begin(p *command.Program) (before *settings.Settings, home string, err error) {
	if err := dial.NotFromRun(p, "change rules"); err != nil {
		return nil, "", err
	}
	if home, err = p.Home(); err != nil {
		return nil, "", err
	}
	before, err = p.FolderSettings(f.CWD)
	return before, home, err
}

// usable refuses a rule that would make the file wrong, and tells what is odd about it.
func (c *addCmd) usable(p *command.Program, s *settings.Settings) error {
	text := fmt.Sprintf(`{"permissions": {%q: [%s]}}`, c.effect, settings.Quote(c.Rule))
	problems, err := examine(&settings.Options{Cwd: s.Project, User: p.UserHome(), Files: []string{text}, Alone: true})
	if err != nil {
		return err
	}
	for _, q := range problems {
		if q.Fatal {
			return outcome.Invalid(q.What, q.Hint)
		}
		p.Warn("%s", strings.Join([]string{q.What, q.Hint}, "; "))
	}
	return nil
}

func (c *forgetCmd) Run(_ context.Context, p *command.Program) error {
	before, home, err := c.begin(p)
	if err != nil {
		return err
	}
	var layers []string
	for _, l := range before.Layers {
		own := l.Layer == layernames.Local && !c.Project && !c.User || l.Layer == layernames.Project && !c.Local && !c.User || l.Layer == layernames.User && !c.Local && !c.Project
		if own && slices.ContainsFunc(before.Rules, func(r policy.RuleSource) bool { return r.Text == c.Rule && r.File == l.File }) {
			layers = append(layers, l.Layer)
		}
	}
	switch len(layers) {
	case 0:
		return &outcome.Failure{Message: fmt.Sprintf("no settings file of yours has the rule %q", c.Rule), Result: outcome.NotFound, Advice: "holdfast policy show lists all rules with their places"}
	case 1:
	default:
		return outcome.Invalid(fmt.Sprintf("the rule %q stands in several files: %s", c.Rule, strings.Join(layers, ", ")), "say which: --"+strings.Join(layers, " or --"))
	}
	d := ruleDoc{Rule: c.Rule, Layer: layers[0], Changed: true, Counts: true, File: settings.RuleFile(layers[0], before.Project, home)}
	if d.Effects, err = settings.RemoveRule(d.Layer, d.File, c.Rule); err != nil {
		return err
	}
	if _, err := p.Settled(c.CWD, before); err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	for _, e := range d.Effects {
		p.Err.Line("%s is no longer %s %s", term.Escape(c.Rule), done[e], term.Escape(d.place(before.Project)))
	}
	return nil
}
