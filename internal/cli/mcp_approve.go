package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// mcpNames are servers that are decided about.
type mcpNames struct {
	Names []string
	CWD   string
	command.JSONFlag
}

func (c *mcpNames) Declare(b *command.Builder) {
	b.Arg(&c.Names, "name", "The servers.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder that brings them along; default the current one.")
	b.Include(&c.JSONFlag)
}

// mcpApproveCmd is `holdfast mcp approve`.
type mcpApproveCmd struct {
	mcpNames
	Yes bool
}

func (c *mcpApproveCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
}

// Help says more than one line.
func (c *mcpApproveCmd) Help() string {
	return `Shows what would be started or reached, and asks. A server is approved with its whole
definition, as it is written: command line or address, environment, headers. When that
changes it needs approval again. Servers of your own settings need none.`
}

// mcpRejectCmd is `holdfast mcp reject`.
type mcpRejectCmd struct{ mcpNames }

func (c *mcpRejectCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
}

// mcpRevokeCmd is `holdfast mcp revoke`.
type mcpRevokeCmd struct{ mcpNames }

func (c *mcpRevokeCmd) Declare(b *command.Builder) {
	b.Include(&c.mcpNames)
}

func (c *mcpApproveCmd) Run(ctx context.Context, p *command.Program) error {
	return c.decide(ctx, p, true, c.Yes)
}

func (c *mcpRejectCmd) Run(ctx context.Context, p *command.Program) error {
	return c.decide(ctx, p, false, true)
}

// servers are those that the names mean, and that a folder brings along.
func (c *mcpNames) servers(p *command.Program, s *settings.Settings) ([]*settings.MCPServer, error) {
	var list []*settings.MCPServer
	for _, name := range c.Names {
		srv, err := findMCP(p, s, name)
		switch {
		case err != nil:
			return nil, err
		case !srv.Brought():
			return nil, outcome.Invalid(fmt.Sprintf("the server %s is of %s, not of a folder: it needs no approval", name, settings.Where(srv.Origin)), "")
		case srv.Status == settings.MCPInvalid:
			return nil, outcome.Invalid(fmt.Sprintf("the server %s: %s", name, srv.Why), "mend its definition")
		}
		list = append(list, srv)
	}
	return list, nil
}

// decide keeps a yes or a no to servers.
func (c *mcpNames) decide(ctx context.Context, p *command.Program, approved, sure bool) error {
	if err := notFromRun(p, "decide about MCP servers"); err != nil {
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
			printServer(p.Err, srv)
		}
	}
	if !sure {
		ok, err := confirm(p, ctx, "let runs in "+term.Escape(s.Project)+" start them, as they are now?", "holdfast mcp approve --yes "+strings.Join(c.Names, " "))
		if err != nil {
			return err
		}
		if !ok {
			return outcome.Invalid("nothing was approved", "holdfast mcp reject keeps runs from asking again")
		}
	}
	docs := []serverDoc{}
	for _, srv := range list {
		if err := decideServer(p, s, srv, approved); err != nil {
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
			p.Warn("it is not started all the same: %s", srv.Why)
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"servers": docs}, p.Out.TTY)
	}
	return nil
}

// decideServer keeps a yes or a no to a server.
func decideServer(p *command.Program, s *settings.Settings, srv *settings.MCPServer, approved bool) error {
	list, err := p.Trust()
	if err != nil {
		return err
	}
	return list.DecideServer(s, srv, approved, p.Now())
}

func (c *mcpRevokeCmd) Run(_ context.Context, p *command.Program) error {
	if err := notFromRun(p, "decide about MCP servers"); err != nil {
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
	dir, err := anyFolder(p, c.CWD)
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
			return &outcome.Failure{Message: fmt.Sprintf("nothing was decided about the server %q in %s", name, dir), Advice: "holdfast mcp list", Result: outcome.NotFound}
		}
		if !c.JSON {
			p.Err.Line("%s: approved and rejected no longer", term.Escape(name))
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"revoked": c.Names}, p.Out.TTY)
	}
	return nil
}

// approveServers asks the person at the terminal about the servers that nobody has decided
// about, before the run. Who does not answer is asked again in the next run. Without a
// terminal they are left out, and [Program.notice] tells.
func (c *runCmd) approveServers(ctx context.Context, p *command.Program, cwd string) error {
	if c.OutputFormat != "text" {
		return nil
	}
	a := newAsker(p)
	if a == nil {
		return nil
	}
	defer a.Close()
	s, err := c.settings(p, cwd)
	if err != nil {
		return err
	}
	set, err := tools.Definitions(p.Environment(), s, c.Agents)
	if err != nil {
		return err
	}
	list := slices.Concat(s.MCPServers, set.Servers)
	for i := range list {
		srv := &list[i]
		if srv.Status != settings.MCPPending && srv.Status != settings.MCPChanged {
			continue
		}
		if err := askServer(p, ctx, a, s, srv); err != nil {
			return err
		}
	}
	return nil
}

// askServer asks about one server.
func askServer(p *command.Program, ctx context.Context, a *asker, s *settings.Settings, srv *settings.MCPServer) error {
	t := a.Out.Style
	head := "an MCP server of " + s.Project
	if srv.Kind != "" {
		head += " for the sub-agent " + srv.Kind
	}
	if srv.Status == settings.MCPChanged {
		head += " that is not what you approved any more"
	}
	a.Out.Line("%s %s  %s", t.Yellow(term.Escape(head+":")), t.Bold(term.EscapeStrict(srv.Name)), t.Dim(term.Escape(settings.Where(srv.Origin))))
	printServerFacts(a.Out, srv)
	yes, answered, err := a.YesOrLater(ctx, "start it in this folder, now and from now on?")
	if err != nil || !answered {
		return err
	}
	return decideServer(p, s, srv, yes)
}
