package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// policyShowCmd is `holdfast policy show`.
type policyShowCmd struct {
	Tool []string
	policyFlags
	jsonFlag
}

func (c *policyShowCmd) declare(b *builder) {
	b.optional(&c.Tool, "tool", "Only the chains of these tools.")
	b.include(&c.policyFlags)
	b.include(&c.jsonFlag)
}

func (c *policyShowCmd) run(_ context.Context, p *Program) error {
	s, err := c.load(p, false)
	if err != nil {
		return err
	}
	d, err := policycheck.Describe(s, c.Tool)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.out.JSON(d, p.out.TTY)
	}
	p.notice(s)
	p.policy(d)
	return nil
}

// policy prints a policy.
func (p *Program) policy(d *policycheck.Document) {
	t := p.out.Style
	mode := string(d.Mode)
	if d.ModeFrom != nil {
		mode += "  " + t.Dim(term.Escape(settings.Where(*d.ModeFrom)))
	}
	p.out.Line("%s %s", t.Dim(term.Column("mode", 9)), mode)
	p.out.Line("%s %s", t.Dim(term.Column("folder", 9)), term.Escape(d.Folder))
	p.out.Line("%s %s", t.Dim(term.Column("project", 9)), term.Escape(d.Project))
	for _, f := range d.Folders {
		p.out.Line("%s %s  %s", t.Dim(term.Column("also", 9)), term.Escape(f.Value), t.Dim(term.Escape(settings.Where(f.Origin))))
	}
	if d.OnAsk != "" {
		p.out.Line("%s %s", t.Dim(term.Column("on ask", 9)), d.OnAsk)
	}
	if d.AskTimeout != "" {
		p.out.Line("%s %s", t.Dim(term.Column("timeout", 9)), d.AskTimeout)
	}
	if d.NoBypass != nil {
		p.out.Line("%s bypassPermissions  %s", t.Dim(term.Column("disabled", 9)), t.Dim(term.Escape(settings.Where(*d.NoBypass))))
	}
	p.heading("settings, the strongest first", len(d.Layers))
	for _, l := range d.Layers {
		more := ""
		if l.Untrusted {
			more = t.Yellow("  not trusted: it may forbid and ask, not allow")
		}
		p.out.Line("  %s %s  %s%s", term.Column(string(l.Layer), 8), term.Escape(l.File), t.Dim(term.Count(l.Rules, "rule")), more)
	}
	p.heading("limits", len(d.Forbidden)+len(d.Sandboxes))
	for _, f := range d.Forbidden {
		p.out.Line("  %s", ruleLine(t, policy.Deny, f.Value, settings.Where(f.Origin)))
	}
	for _, s := range d.Sandboxes {
		p.out.Line("  sandbox  %s", t.Dim(term.Escape(settings.Where(s.Origin))))
	}
	p.heading("rules", len(d.Rules))
	for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
		for _, r := range d.Rules {
			if r.Effect == effect {
				p.out.Line("  %s", ruleLine(t, effect, r.Rule, settings.Where(r.Origin)))
			}
		}
	}
	p.heading("what does not count, since the folder is not trusted", len(d.Ignored))
	for _, i := range d.Ignored {
		p.out.Line("  %s  %s", term.Escape(i.What), t.Dim(term.Escape(settings.Where(i.Origin))))
	}
	p.chains(d.Chains)
}

// chains prints each chain once, with the tools that have it.
func (p *Program) chains(list []policy.Chain) {
	p.heading("chains: who is asked, in order", len(list))
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
		p.out.Line("  %s", term.Escape(strings.Join(tools[chain], ", ")))
		p.out.Line("    %s", term.Escape(chain))
	}
}

func (p *Program) heading(text string, n int) {
	if n > 0 {
		p.out.Line("")
		p.out.Line("%s", p.out.Bold(fmt.Sprintf("%s:", text)))
	}
}
