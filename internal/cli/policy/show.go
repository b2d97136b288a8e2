package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

func (c *showCmd) Run(_ context.Context, p *command.Program) error {
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	d, err := policycheck.Describe(s, c.Tool)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	p.SettingsNotices(s)
	printPolicy(p, d)
	return nil
}

// printPolicy prints a policy.
func printPolicy(p *command.Program, d *policycheck.Document) {
	t := p.Out.Style
	mode := string(d.Mode)
	if d.ModeFrom != nil {
		mode += "  " + t.Dim(term.Escape(settings.OriginText(*d.ModeFrom)))
	}
	p.Out.Line("%s %s", t.Dim(term.Column("mode", 9)), mode)
	p.Out.Line("%s %s", t.Dim(term.Column("folder", 9)), term.Escape(d.Folder))
	p.Out.Line("%s %s", t.Dim(term.Column("project", 9)), term.Escape(d.Project))
	for _, f := range d.Folders {
		p.Out.Line("%s %s  %s", t.Dim(term.Column("also", 9)), term.Escape(f.Value), t.Dim(term.Escape(settings.OriginText(f.Origin))))
	}
	if d.OnAsk != "" {
		p.Out.Line("%s %s", t.Dim(term.Column("on ask", 9)), d.OnAsk)
	}
	if d.AskTimeout != "" {
		p.Out.Line("%s %s", t.Dim(term.Column("timeout", 9)), d.AskTimeout)
	}
	if d.NoBypass != nil {
		p.Out.Line("%s bypassPermissions  %s", t.Dim(term.Column("disabled", 9)), t.Dim(term.Escape(settings.OriginText(*d.NoBypass))))
	}
	printHeading(p, "settings, highest precedence first", len(d.Layers))
	width := 8
	for i := range d.Layers {
		width = max(width, len(settings.LayerName(&d.Layers[i])))
	}
	for _, l := range d.Layers {
		more := ""
		if l.Untrusted {
			more = t.Yellow("  not trusted: its allow rules are ignored")
		}
		p.Out.Line("  %s %s  %s%s", term.Column(settings.LayerName(&l), width), term.Escape(l.File), t.Dim(term.Count(l.Rules, "rule")), more)
	}
	printHeading(p, "limits", len(d.Forbidden)+len(d.Sandboxes))
	for _, f := range d.Forbidden {
		p.Out.Line("  %s", view.RuleLine(t, policy.Deny, f.Value, settings.OriginText(f.Origin)))
	}
	for _, s := range d.Sandboxes {
		p.Out.Line("  sandbox  %s", t.Dim(term.Escape(settings.OriginText(s.Origin))))
	}
	printHeading(p, "rules", len(d.Rules))
	for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
		for _, r := range d.Rules {
			if r.Effect == effect {
				p.Out.Line("  %s", view.RuleLine(t, effect, r.Rule, settings.OriginText(r.Origin)))
			}
		}
	}
	printHeading(p, "ignored because the folder is not trusted", len(d.Ignored))
	for _, i := range d.Ignored {
		p.Out.Line("  %s  %s", term.Escape(i.Setting), t.Dim(term.Escape(settings.OriginText(i.Origin))))
	}
	printChains(p, d.Chains)
}

// printChains prints each chain once, with its tools.
func printChains(p *command.Program, list []policy.Chain) {
	printHeading(p, "chains: the links that decide, in order", len(list))
	tools := map[string][]string{}
	var order []string
	for _, c := range list {
		var names []string
		for _, l := range c.Links {
			name := l.Name
			if l.Detail != "" && l.Stage != "rules" {
				name += " (" + l.Detail + ")"
			}
			names = append(names, name)
		}
		chain := strings.Join(names, " · ")
		if tools[chain] == nil {
			order = append(order, chain)
		}
		tools[chain] = append(tools[chain], c.Tool)
	}
	for _, chain := range order {
		p.Out.Line("  %s", term.Escape(strings.Join(tools[chain], ", ")))
		p.Out.Line("    %s", term.Escape(chain))
	}
}

func printHeading(p *command.Program, text string, n int) {
	if n > 0 {
		p.Out.Line("")
		p.Out.Line("%s", p.Out.Bold(fmt.Sprintf("%s:", text)))
	}
}
