package mcp

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *fetchCmd) Run(ctx context.Context, p *command.Program) error {
	if err := dial.RefuseInsideRun(p, "download MCP servers"); err != nil {
		return err
	}
	s, err := c.load(p)
	if err != nil {
		return err
	}
	srv, err := findMCP(p, s, c.Name)
	if err != nil {
		return err
	}
	hosts := c.Host
	if registry := tools.RegistryOf(srv); registry != "" {
		hosts = append(hosts, registry)
	}
	switch {
	case srv.Type != settings.MCPStdio:
		return outcome.Invalid(fmt.Sprintf("server %s is a URL: there is nothing to download", c.Name), "")
	case srv.Status != settings.MCPApproved:
		return &outcome.Failure{Message: fmt.Sprintf("server %s is %s: %s", c.Name, srv.Status, srv.Reason), Advice: "holdfast mcp approve " + term.Quote(c.Name), Result: outcome.Denied}
	case len(hosts) == 0:
		return outcome.Invalid(fmt.Sprintf("server %s does not use a known package launcher", c.Name), "name the host to download from, such as --host @npm")
	}
	st, err := question.FetchServer(ctx, p, s, srv, hosts)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"name": srv.Name, "hosts": hosts, "tools": len(st.Tools)}, p.Out.TTY)
	}
	return nil
}
