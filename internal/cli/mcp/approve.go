package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *approveCmd) Run(ctx context.Context, p *command.Program) error {
	return c.decide(ctx, p, true, c.Yes)
}

func (c *rejectCmd) Run(ctx context.Context, p *command.Program) error {
	return c.decide(ctx, p, false, true)
}

// servers returns the named servers. It rejects servers that do not come from a folder.
func (c *mcpNames) servers(p *command.Program, s *settings.Settings) ([]*settings.MCPServer, error) {
	var list []*settings.MCPServer
	for _, name := range c.Names {
		srv, err := findMCP(p, s, name)
		switch {
		case err != nil:
			return nil, err
		case !srv.FromFolder():
			return nil, outcome.Invalid(fmt.Sprintf("server %s comes from %s, not from a folder, and needs no approval", name, settings.OriginText(srv.Origin)), "")
		case srv.Status == settings.MCPInvalid:
			return nil, outcome.Invalid(fmt.Sprintf("server %s: %s", name, srv.Reason), "fix its definition")
		}
		list = append(list, srv)
	}
	return list, nil
}

// decide stores the approval or rejection of servers.
func (c *mcpNames) decide(ctx context.Context, p *command.Program, approved, sure bool) error {
	if err := dial.RefuseInsideRun(p, "approve MCP servers"); err != nil {
		return err
	}
	s, err := p.FolderSettings(c.CWD)
	if err != nil {
		return err
	}
	list, err := c.servers(p, s)
	if err != nil {
		return err
	}
	if approved && !c.JSON {
		for _, srv := range list {
			question.PrintServer(p.Err, srv)
		}
	}
	if !sure {
		ok, err := question.Confirm(ctx, p, "let runs in "+term.Escape(s.Project)+" start these servers in their current form?", "holdfast mcp approve --yes "+strings.Join(c.Names, " "))
		if err != nil {
			return err
		}
		if !ok {
			return outcome.Invalid("nothing was approved", "use holdfast mcp reject to make runs stop asking")
		}
	}
	docs := []serverDoc{}
	for _, srv := range list {
		if err := question.DecideServer(p, s, srv, approved); err != nil {
			return err
		}
	}
	if s, err = p.FolderSettings(c.CWD); err != nil {
		return err
	}
	for _, name := range c.Names {
		srv, err := findMCP(p, s, name)
		if err != nil {
			return err
		}
		docs = append(docs, newServerDoc(srv))
		if c.JSON {
			continue
		}
		p.Err.Line("%s: %s", term.Escape(name), srv.Status)
		if approved && srv.Status != settings.MCPApproved {
			p.Warn("it is still not started: %s", srv.Reason)
		}
		if approved && !sure && srv.Status == settings.MCPApproved {
			if err := question.OfferFetch(ctx, p, s, srv); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"servers": docs}, p.Out.TTY)
	}
	return nil
}

func (c *revokeCmd) Run(_ context.Context, p *command.Program) error {
	if err := dial.RefuseInsideRun(p, "change approvals of MCP servers"); err != nil {
		return err
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	list, err := p.Trust()
	if err != nil {
		return err
	}
	dir, err := p.FolderArg(c.CWD)
	if err != nil {
		return err
	}
	if project, err := settings.FindProject(dir, home); err == nil {
		dir = project
	}
	for _, name := range c.Names {
		ok, err := list.ForgetServer(dir, name)
		if err != nil {
			return err
		}
		if !ok {
			return &outcome.Failure{Message: fmt.Sprintf("server %q in %s is neither approved nor rejected", name, dir), Advice: "list the servers with holdfast mcp list", Result: outcome.NotFound}
		}
		if !c.JSON {
			p.Err.Line("%s: decision cleared", term.Escape(name))
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"revoked": c.Names}, p.Out.TTY)
	}
	return nil
}
