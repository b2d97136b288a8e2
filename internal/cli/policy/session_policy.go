package policy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *modeCmd) Run(ctx context.Context, p *command.Program) error {
	mode := policy.Mode(c.Mode)
	if err := mode.Check(); err != nil {
		return outcome.Invalid(err.Error(), "")
	}
	return c.WithRunSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		if err := checkMode(p, m, mode); err != nil {
			return err
		}
		done, err := sessionpolicy.Change(ctx, s, m.ID, func(*policy.Guards) (policy.Change, error) {
			return policy.Change{Mode: mode, By: p.ActorName(c.By)}, nil
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(done, false)
		}
		when := "it applies when the session is resumed"
		if held, err := s.Lease(ctx, m.ID); err == nil && held != nil {
			when = "it applies from the next decision"
		}
		p.Err.Line("session %s is in mode %s; %s", m.ID, mode, when)
		return nil
	})
}

// checkMode rejects a mode that the settings of the session's folder disable.
func checkMode(p *command.Program, m session.Meta, mode policy.Mode) error {
	if mode != policy.ModeBypass {
		return nil
	}
	s, err := p.LoadSettings(m.CWD, nil)
	if err != nil {
		return err
	}
	return s.CheckMode(mode)
}

type grantsDoc struct {
	Session string         `json:"session_id"`
	Grants  []policy.Grant `json:"grants"`
}

func (c *grantsCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithRunSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		if c.Revoke != "" {
			return c.revoke(ctx, p, s, m.ID)
		}
		all, err := sessionpolicy.Guards(ctx, s, m)
		if err != nil {
			return err
		}
		list := all.Grants()
		if c.JSON {
			return p.Out.JSON(grantsDoc{m.ID, append([]policy.Grant{}, list...)}, p.Out.TTY)
		}
		for _, g := range list {
			printGrant(p, g)
		}
		if len(list) == 0 {
			p.Err.Line("session %s has no grants", m.ID)
		}
		return nil
	})
}

// printGrant prints a grant and its scope.
func printGrant(p *command.Program, g policy.Grant) {
	t := p.Out.Style
	covers := g.Scope
	if covers == "" {
		if covers = g.Tool + " " + g.Resource; g.Address != "" {
			covers += " at " + g.Address
		}
	}
	if g.Cwd != "" {
		covers += " in " + g.Cwd
	}
	p.Out.Line("%s  %s %s", term.Escape(g.ID), view.EffectText(t, g.Effect), term.Escape(term.OneLine(covers)))
	p.Out.Line("  %s", t.Dim(term.Escape(fmt.Sprintf("%s, by %s at %s", g.Name, cmp.Or(g.By, "an unknown user"), g.At.Local().Format("2006-01-02 15:04:05")))))
}

func (c *grantsCmd) revoke(ctx context.Context, p *command.Program, s *session.Sessions, id string) error {
	done, err := sessionpolicy.Change(ctx, s, id, func(all *policy.Guards) (policy.Change, error) {
		g, err := findGrant(all.Grants(), c.Revoke, id)
		return policy.Change{Revoke: g.ID, By: p.ActorName(c.By)}, err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(done, false)
	}
	p.Err.Line("revoked grant %s", term.Escape(done.Revoke))
	return nil
}

// findGrant finds a grant by its id or a unique prefix of it.
func findGrant(list []policy.Grant, id, in string) (policy.Grant, error) {
	var found []policy.Grant
	for _, g := range list {
		if g.ID == id {
			return g, nil
		}
		if len(id) <= len(g.ID) && g.ID[:len(id)] == id {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return policy.Grant{}, &outcome.Failure{
			Message: fmt.Sprintf("no grant %q", id), Advice: "list the grants: holdfast policy grants " + in, Result: outcome.NotFound, Cause: policy.ErrUnknownGrant,
		}
	}
	return policy.Grant{}, outcome.Invalid(fmt.Sprintf("%q matches %d grants", id, len(found)), "list the grants: holdfast policy grants "+in)
}
