package instructions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type pluginDoc struct {
	Name        string               `json:"name"`
	Version     string               `json:"version,omitempty"`
	Description string               `json:"description,omitempty"`
	Folder      string               `json:"folder"`
	Layer       string               `json:"layer"`  // the layer that names it
	Origin      string               `json:"origin"` // where it is named
	Untrusted   bool                 `json:"untrusted,omitempty"`
	Commands    []string             `json:"commands"`
	Skills      []string             `json:"skills"`
	Agents      []string             `json:"agents"`
	Hooks       []pluginPart         `json:"hooks"`
	Servers     []pluginPart         `json:"mcp_servers"`
	Unsupported []plugin.Unsupported `json:"unsupported"`
}

// pluginPart is a hook or an MCP server.
type pluginPart struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

func (c *pluginsCmd) Run(_ context.Context, p *command.Program) error {
	cwd, err := p.Folder(c.CWD)
	if err != nil {
		return err
	}
	o, err := p.SettingsOptions(cwd, nil)
	if err != nil {
		return err
	}
	for _, dir := range c.PluginDir {
		if dir, err = p.Folder(dir); err != nil {
			return err
		}
		o.Flags.Plugins = append(o.Flags.Plugins, dir)
	}
	s, err := settings.Load(o)
	if err != nil {
		return err
	}
	list, err := describePlugins(p, s)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"plugins": list}, p.Out.TTY)
	}
	for i := range list {
		printPlugin(p, &list[i])
	}
	if len(list) == 0 {
		p.Err.Line("no plugins")
		p.Err.Line("%s %s", p.Err.Bold("hint:"), "name a plugin's folder with --plugin-dir, or in plugins in the settings")
	}
	if slices.ContainsFunc(list, func(d pluginDoc) bool { return d.Untrusted }) {
		p.Err.Line("%s %s", p.Err.Bold("hint:"), "review the plugin, then run holdfast trust")
	}
	return nil
}

// describePlugins returns what each plugin contains.
func describePlugins(p *command.Program, s *settings.Settings) ([]pluginDoc, error) {
	found, err := tools.FindSkills(p.Environment(), s)
	if err != nil {
		return nil, err
	}
	agents, err := tools.Definitions(p.Environment(), s, "")
	if err != nil {
		return nil, err
	}
	list := []pluginDoc{}
	for i := range s.Plugins {
		pl := &s.Plugins[i]
		d := pluginDoc{
			Name: pl.Name, Version: pl.Version, Description: pl.Description, Folder: pl.Root, Layer: pl.Origin.Layer, Origin: settings.OriginText(pl.Origin), Untrusted: pl.Untrusted,
			Commands: []string{}, Skills: []string{}, Agents: []string{}, Hooks: []pluginPart{}, Servers: []pluginPart{}, Unsupported: append([]plugin.Unsupported{}, pl.Unsupported...),
		}
		mine := func(file string) bool { return strings.HasPrefix(file, pl.Root+"/") }
		for _, sk := range found.All.Skills {
			switch {
			case sk.Plugin != pl.Name || !mine(sk.File):
			case sk.Command:
				d.Commands = append(d.Commands, skillName(sk))
			default:
				d.Skills = append(d.Skills, skillName(sk))
			}
		}
		for _, a := range agents.Definitions {
			if mine(a.Origin) {
				d.Agents = append(d.Agents, a.Name)
			}
		}
		for i := range s.Hooks {
			if h := &s.Hooks[i]; mine(h.Origin.File) {
				d.Hooks = append(d.Hooks, pluginPart{string(h.Event), string(h.Status)})
			}
		}
		for i := range s.MCPServers {
			if srv := &s.MCPServers[i]; srv.Plugin == pl.Name && mine(srv.Origin.File) {
				d.Servers = append(d.Servers, pluginPart{srv.Name, string(srv.Status)})
			}
		}
		for _, f := range s.Foreign { // such as hooks of a type that does not run
			if mine(f.Origin.File) {
				d.Unsupported = append(d.Unsupported, plugin.Unsupported{Part: fmt.Sprintf("%s, line %d", f.Key, f.Origin.Line), Reason: f.Reason})
			}
		}
		for _, pr := range found.All.Problems {
			if mine(pr.File) {
				d.Unsupported = append(d.Unsupported, plugin.Unsupported{Part: strings.TrimPrefix(pr.File, pl.Root+"/"), Reason: pr.Detail})
			}
		}
		for _, pr := range agents.Problems {
			if mine(pr.File) {
				d.Unsupported = append(d.Unsupported, plugin.Unsupported{Part: strings.TrimPrefix(pr.File, pl.Root+"/"), Reason: pr.Detail})
			}
		}
		list = append(list, d)
	}
	return list, nil
}

func printPlugin(p *command.Program, d *pluginDoc) {
	state := ""
	if d.Untrusted {
		state = p.Out.Style.Yellow(", not trusted")
	}
	p.Out.Line("%s  %s%s", p.Out.Bold(term.Escape(strings.TrimSpace(d.Name+" "+d.Version))), d.Layer, state)
	plain := func(s string) string { return s }
	line := func(head string, parts []string) {
		if len(parts) > 0 {
			p.Out.PrintIndented(term.Column("  "+head, 13), 13, term.Escape(strings.Join(parts, ", ")), plain)
		}
	}
	if d.Description != "" {
		p.Out.PrintIndented("  ", 2, term.Escape(d.Description), p.Out.Dim)
	}
	line("folder", []string{d.Folder})
	line("named in", []string{d.Origin})
	line("commands", d.Commands)
	line("skills", d.Skills)
	line("sub-agents", d.Agents)
	line("hooks", partNames(d.Hooks, string(settings.HookTrusted)))
	line("MCP", partNames(d.Servers, string(settings.MCPApproved)))
	for _, u := range d.Unsupported {
		line("not used", []string{u.Part + ": " + u.Reason})
	}
}

// partNames returns the names of parts, each with its status if that is not the usual one.
func partNames(list []pluginPart, usual string) (names []string) {
	for _, part := range list {
		name := part.Name
		if part.Status != usual {
			name += " (" + part.Status + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
