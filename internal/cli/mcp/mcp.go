package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

func (f *mcpFlags) load(p *command.Program) (*settings.Settings, error) {
	dir, err := p.Folder(f.CWD)
	if err != nil {
		return nil, err
	}
	o, err := p.SettingsOptions(dir, nil)
	if err != nil {
		return nil, err
	}
	if o.MCP, err = p.SettingsFiles(f.MCPConfig); err != nil {
		return nil, err
	}
	o.StrictMCP = f.StrictMCPConfig
	return settings.Load(o)
}

// findMCP finds the server KIND/NAME. For a name alone, it finds the run's server of that name, or
// else the server of that name if only one kind of sub-agent has one.
func findMCP(p *command.Program, s *settings.Settings, name string) (*settings.MCPServer, error) {
	list, err := tools.Servers(p.Environment(), s)
	if err != nil {
		return nil, err
	}
	var named []*settings.MCPServer
	for i := range list {
		if list[i].Key() == name {
			return &list[i], nil
		}
		if list[i].Name == name {
			named = append(named, &list[i])
		}
	}
	if len(named) == 1 {
		return named[0], nil
	}
	hint := "list the servers with holdfast mcp list"
	if len(list) == 0 {
		hint = "there are no MCP servers here; add one with holdfast mcp add"
	}
	return nil, &outcome.Failure{Message: fmt.Sprintf("no MCP server %q", name), Advice: hint, Result: outcome.NotFound}
}

// serverDoc is a server in JSON. It omits the values of environment variables and headers, which
// can be secrets.
type serverDoc struct {
	Name    string             `json:"name"`
	Type    settings.MCPType   `json:"type"`
	Scope   string             `json:"scope"`
	Status  settings.MCPStatus `json:"status"`
	Reason  string             `json:"why,omitempty"`
	Command string             `json:"command,omitempty"`
	Args    []string           `json:"args,omitempty"`
	Cwd     string             `json:"cwd,omitempty"`
	Env     []string           `json:"env,omitempty"` // names
	URL     string             `json:"url,omitempty"`
	Headers []string           `json:"headers,omitempty"` // names
	Reads   []string           `json:"reads,omitempty"`   // the environment variables that the server can read
	Origin  policy.Origin      `json:"origin"`
	Digest  string             `json:"digest"`
	Check   *checkDoc          `json:"check,omitempty"`
}

func newServerDoc(srv *settings.MCPServer) serverDoc {
	return serverDoc{
		Name: srv.Key(), Type: srv.Type, Scope: srv.Origin.Layer, Status: srv.Status, Reason: srv.Reason,
		Command: srv.Command, Args: srv.Args, Cwd: srv.Dir, Env: slices.Sorted(maps.Keys(srv.Env)),
		URL: srv.URL, Headers: slices.Sorted(maps.Keys(srv.Headers)), Reads: srv.EnvReads(), Origin: srv.Origin, Digest: srv.Digest,
	}
}

func (c *listCmd) Run(ctx context.Context, p *command.Program) error {
	s, err := c.load(p)
	if err != nil {
		return err
	}
	list, err := tools.Servers(p.Environment(), s)
	if err != nil {
		return err
	}
	docs := []serverDoc{}
	for i := range list {
		docs = append(docs, newServerDoc(&list[i]))
	}
	if c.Check {
		if err := checkServers(ctx, p, s, list, docs); err != nil {
			return err
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"servers": docs}, p.Out.TTY)
	}
	if len(docs) == 0 {
		p.Err.Line("no MCP servers here")
		return nil
	}
	rows := [][]string{{"NAME", "TYPE", "SCOPE", "STATUS", "WHAT"}}
	for i, d := range docs {
		status := string(d.Status)
		if d.Check != nil {
			status = d.Check.status()
		}
		rows = append(rows, []string{d.Name, string(d.Type), string(d.Scope), status, question.ServerLine(&list[i])})
	}
	p.Out.Table(rows, 4)
	for _, d := range docs {
		if d.Check != nil && d.Check.Error != "" {
			p.Warn("%s", term.Escape(term.OneLine(d.Check.Error)))
			if d.Check.Hint != "" {
				p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(term.OneLine(d.Check.Hint)))
			}
		}
	}
	p.ServerNotices(s.Project, list)
	return nil
}

func (c *getCmd) Run(ctx context.Context, p *command.Program) error {
	s, err := c.load(p)
	if err != nil {
		return err
	}
	srv, err := findMCP(p, s, c.Name)
	if err != nil {
		return err
	}
	docs := []serverDoc{newServerDoc(srv)}
	if c.Check {
		if err := checkServers(ctx, p, s, []settings.MCPServer{*srv}, docs); err != nil {
			return err
		}
	}
	if c.JSON {
		return p.Out.JSON(docs[0], p.Out.TTY)
	}
	question.PrintServer(p.Out, srv)
	if docs[0].Check != nil {
		printChecked(p.Out, docs[0].Check)
	}
	return nil
}
