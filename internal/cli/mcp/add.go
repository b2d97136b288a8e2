package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *addJSONCmd) Run(_ context.Context, p *command.Program) error {
	return c.write(p, c.Name, json.RawMessage(c.Def), c.Replace)
}

func (c *addCmd) Run(_ context.Context, p *command.Program) error {
	def, err := c.definition()
	if err != nil {
		return err
	}
	return c.write(p, c.Name, def, c.Replace)
}

// definition returns the server definition that the flags describe, with its keys in the usual
// order.
func (c *addCmd) definition() (json.RawMessage, error) {
	address := strings.HasPrefix(c.Target, "http://") || strings.HasPrefix(c.Target, "https://")
	kind := c.Type
	if kind == "" && address {
		kind = "http"
	}
	if kind == "stdio" && address {
		return nil, outcome.Invalid(fmt.Sprintf("%.100q is a URL, but --transport stdio needs a program", c.Target), "use --transport http or sse")
	}
	doc := struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		OAuth   map[string]any    `json:"oauth,omitempty"`
	}{Type: kind}
	var err error
	if doc.Env, err = parsePairs(c.Env, "=", "use --env NAME=VALUE"); err != nil {
		return nil, err
	}
	if doc.Headers, err = parsePairs(c.Header, ":", "use --header 'NAME: VALUE'"); err != nil {
		return nil, err
	}
	if c.Client != "" || c.Port != 0 {
		doc.OAuth = map[string]any{}
		if c.Client != "" {
			doc.OAuth["clientId"] = c.Client
		}
		if c.Port != 0 {
			doc.OAuth["callbackPort"] = c.Port
		}
	}
	if args := slices.Clone(c.Args); kind == "http" || kind == "sse" {
		doc.URL, doc.Args = c.Target, args
	} else {
		doc.Command, doc.Args = c.Target, args
	}
	return jsonscan.Marshal(doc)
}

// parsePairs splits NAME=VALUE pairs.
func parsePairs(list []string, between, form string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // no pairs
	}
	pairs := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, between)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, outcome.Invalid(fmt.Sprintf("%.60q is not a name and a value", text), form)
		}
		if between == ":" {
			value = strings.TrimSpace(value)
		}
		pairs[name] = value
	}
	return pairs, nil
}

// target returns the path of the settings file of the selected scope, the scope, and the settings of
// the folder's project.
func (c *mcpScopeFlags) target(p *command.Program) (file string, scope settings.MCPScope, s *settings.Settings, err error) {
	if err := dial.RefuseInsideRun(p, "change MCP servers"); err != nil {
		return "", "", nil, err
	}
	home, err := p.Home()
	if err != nil {
		return "", "", nil, err
	}
	if s, err = p.FolderSettings(c.CWD); err != nil {
		return "", "", nil, err
	}
	scope = settings.MCPScope(cmp.Or(c.Scope, string(settings.MCPLocal)))
	return settings.MCPScopeFile(scope, s.Project, home), scope, s, nil
}

// write adds a server. A server that the user adds is approved. A folder that was trusted stays
// trusted.
func (c *mcpScopeFlags) write(p *command.Program, name string, def json.RawMessage, replace bool) error {
	file, scope, before, err := c.target(p)
	if err != nil {
		return err
	}
	if old := before.FindMCP(name); old != nil && old.Origin.File == file && !replace {
		return outcome.Invalid(fmt.Sprintf("MCP server %q already exists in %s", name, file), "replace it with --replace, or remove it with holdfast mcp remove "+name)
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	err = quarantine.Open(home).MarkOwn(file, func() error {
		_, err := settings.EditMCP(scope, file, name, def)
		return err
	})
	if err != nil {
		return err
	}
	s, err := p.SettingsAfter(c.CWD, before, file)
	if err != nil {
		return err
	}
	srv, err := findMCP(p, s, name)
	if err != nil {
		return err
	}
	if srv.Origin.File == file && srv.FromFolder() {
		if err := question.DecideServer(p, s, srv, true); err != nil {
			return err
		}
		if s, err = p.FolderSettings(c.CWD); err != nil {
			return err
		}
		srv = s.FindMCP(name)
	}
	if c.JSON {
		return p.Out.JSON(newServerDoc(srv), p.Out.TTY)
	}
	p.Err.Line("added %s to %s", term.Escape(name), term.Escape(file))
	if srv.Origin.File != file {
		p.Warn("a server with the same name takes precedence: %s", settings.OriginText(srv.Origin))
	} else if srv.Reason != "" {
		p.Warn("it is not started: %s", srv.Reason)
	} else if one := tools.Server(s, srv); one.Check() != nil {
		p.Warn("it is not started: %v", one.Check())
	}
	return nil
}

func (c *removeCmd) Run(_ context.Context, p *command.Program) error {
	scopes := []settings.MCPScope{settings.MCPLocal, settings.MCPProject, settings.MCPUser}
	if c.Scope != "" {
		scopes = []settings.MCPScope{settings.MCPScope(c.Scope)}
	}
	var in []string
	var files []string
	for _, scope := range scopes {
		c.Scope = string(scope)
		file, _, _, err := c.target(p)
		if err != nil {
			return err
		}
		there, err := settings.HasMCP(scope, file, c.Name)
		if err != nil {
			return err
		}
		if there {
			in, files = append(in, string(scope)), append(files, file)
		}
	}
	switch len(in) {
	case 0:
		return &outcome.Failure{Message: fmt.Sprintf("no MCP server %q to remove", c.Name), Advice: "list the servers with holdfast mcp list", Result: outcome.NotFound}
	case 1:
	default:
		return outcome.Invalid(fmt.Sprintf("server %q is in several scopes: %s", c.Name, strings.Join(in, ", ")), "choose one with --scope "+in[0])
	}
	c.Scope = in[0]
	_, scope, before, err := c.target(p)
	if err != nil {
		return err
	}
	if _, err := settings.EditMCP(scope, files[0], c.Name, nil); err != nil {
		return err
	}
	s, err := p.SettingsAfter(c.CWD, before, files[0])
	if err != nil {
		return err
	}
	if s.FindMCP(c.Name) == nil {
		if err := revokeServer(p, s.Project, c.Name); err != nil {
			return err
		}
	}
	if c.JSON {
		return p.Out.JSON(map[string]string{"removed": c.Name, "file": files[0]}, p.Out.TTY)
	}
	p.Err.Line("removed %s from %s", term.Escape(c.Name), term.Escape(files[0]))
	return nil
}

func revokeServer(p *command.Program, project, name string) error {
	list, err := p.Trust()
	if err != nil {
		return err
	}
	_, err = list.ForgetServer(project, name)
	return err
}
