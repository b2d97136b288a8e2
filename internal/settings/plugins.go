package settings

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/policy"
)

// Plugin is a plugin that settings or a flag name.
type Plugin struct {
	plugin.Plugin
	Origin    policy.Origin // where it is named
	Untrusted bool          // the settings of an untrusted folder name it
}

// FromFolder reports whether the project's settings name the plugin, so that its parts need trust.
func (p *Plugin) FromFolder() bool { return isFolderLayer(p.Origin.Layer) }

// FolderPlugins returns the plugins that the project's settings name.
func (s *Settings) FolderPlugins() []Plugin {
	return slices.DeleteFunc(slices.Clone(s.Plugins), func(p Plugin) bool { return !p.FromFolder() })
}

// pluginOf returns the plugin that a file or folder belongs to, or nil.
func (s *Settings) pluginOf(file string) *Plugin {
	i := slices.IndexFunc(s.Plugins, func(p Plugin) bool {
		return file == p.Root || strings.HasPrefix(file, p.Root+string(filepath.Separator))
	})
	if i < 0 {
		return nil
	}
	return &s.Plugins[i]
}

// PluginNotice reports the plugins with parts that are not used, with the command that lists these
// parts. Both are "" if there are none.
func (s *Settings) PluginNotice() (what, hint string) {
	var names []string
	hint = "holdfast plugins"
	for _, f := range s.Foreign {
		p := s.pluginOf(f.Origin.File)
		if f.Silent || p == nil || slices.Contains(names, p.Name) {
			continue
		}
		names = append(names, p.Name)
		if p.Origin.Layer == layernames.Flag {
			hint += " --plugin-dir " + quote(p.Root)
		}
	}
	switch len(names) {
	case 0:
		return "", ""
	case 1:
		return "parts of the plugin " + names[0] + " are not used here", hint
	}
	return "parts of the plugins " + strings.Join(names, ", ") + " are not used here", hint
}

// pluginFolders decodes plugins.
func (s *parsedSource) pluginFolders(path string, n jsontree.Node) {
	s.texts(path, n, func(at string, item jsontree.Node) {
		if dir, ok := s.absolutePath(at, item); ok {
			s.plugins = append(s.plugins, Value[string]{dir, s.origin(item, item.Text)})
		}
	})
}

// addPlugins adds the plugins of a layer: their hooks and MCP servers as if they were in the layer,
// the other parts to [Settings].Plugins.
//
//	plugins ─► plugin.Read ─┬─ hooks ──────► a source of the layer ─► Hooks
//	                        ├─ MCP servers ► a source of the layer ─► MCPServers
//	                        └─ commands, skills, agents ─► Plugins ─► their loaders
func (m *merger) addPlugins(s *parsedSource) {
	for _, v := range s.plugins {
		if s.untrusted {
			m.ignore("plugin "+v.Value, v.Origin)
		}
		if !m.pluginAllowed(s, v) {
			continue
		}
		p, err := plugin.Read(v.Value)
		if e, ok := errors.AsType[*plugin.Error](err); ok {
			m.pluginProblem(v.Origin, Problem{File: e.File, Line: e.Line, Col: e.Column, Detail: e.Detail, Hint: e.Hint, Fatal: true})
			continue
		}
		i := slices.IndexFunc(m.out.Plugins, func(o Plugin) bool { return o.Name == p.Name })
		if i >= 0 {
			o := m.out.Plugins[i].Origin
			if o.Layer == layernames.Flag { // a plugin that the user is working on
				continue
			}
			m.pluginProblem(v.Origin, Problem{File: p.Root, Detail: "another plugin, " + m.out.Plugins[i].Root + ", is also named " + p.Name})
		}
		m.out.Plugins = append(m.out.Plugins, Plugin{Plugin: *p, Origin: v.Origin, Untrusted: s.untrusted})
		for _, u := range p.Unsupported {
			m.out.Foreign = append(m.out.Foreign, UnsupportedSetting{Key: "plugin " + p.Name + ": " + u.Part, Reason: u.Reason, Origin: policy.Origin{Rule: u.Part, Layer: s.layer, File: p.Root}, Silent: u.Quiet})
		}
		for _, b := range p.Hooks {
			m.add(s.pluginHooks(p, &b))
		}
		for _, b := range p.Servers {
			m.add(s.pluginServers(p, &b))
		}
	}
}

// pluginAllowed reports whether a layer may name a folder. A project may only name folders in the
// project, because only their content is part of what the user trusts.
func (m *merger) pluginAllowed(s *parsedSource, v Value[string]) bool {
	o := &m.out.opt
	switch {
	case !isFolderLayer(s.layer) && o.Portable != nil:
		m.pluginProblem(v.Origin, Problem{
			File: v.Value, Detail: "a container sees only plugins in the project, so this plugin of the " + s.layer + " settings is not used", Hint: "copy it into the project, and name it in the project's settings", Fatal: s.layer == layernames.Managed,
		})
		return false
	case !isFolderLayer(s.layer):
		return true
	}
	dir, err := canonical(v.Value)
	if err == nil && dir != o.Project && !strings.HasPrefix(dir, o.Project+string(filepath.Separator)) {
		m.pluginProblem(v.Origin, Problem{
			File: v.Value, Detail: "a project's settings can only name plugins in the project", Hint: "name it in your own settings, or with --plugin-dir", Fatal: true,
		})
		return false
	}
	return true
}

// pluginProblem adds a problem of a plugin that is named at an origin.
func (m *merger) pluginProblem(o policy.Origin, p Problem) {
	p.Layer = o.Layer
	p.Detail += " (named by " + OriginText(o) + ")"
	m.problems = append(m.problems, p)
}

// partSource returns a source for a part of a plugin, in the layer that names the plugin.
func (s *parsedSource) partSource(b *plugin.Block) *parsedSource {
	return &parsedSource{source: source{layer: s.layer, file: b.File, dir: s.dir, user: s.user, data: b.Text, untrusted: s.untrusted}}
}

// pluginHooks decodes hooks of a plugin. Hooks that have no equivalent have no effect and are noted,
// as those of Claude Code's settings.
func (s *parsedSource) pluginHooks(p *plugin.Plugin, b *plugin.Block) *parsedSource {
	part := s.partSource(b)
	part.program, part.kind, part.key = importsettings.Claude, importsettings.Settings, "hooks"
	part.hooksBlock("hooks", b.Value)
	for i := range part.hooks.list {
		part.hooks.list[i].Vars = map[string]string{plugin.RootVariable: p.Root}
	}
	return part
}

// pluginServers decodes MCP servers of a plugin. A problem of one server excludes only that server.
func (s *parsedSource) pluginServers(p *plugin.Plugin, b *plugin.Block) *parsedSource {
	part := s.partSource(b)
	part.lenient = true
	part.mcpServers("mcpServers", b.Value)
	for i := range part.mcp.servers {
		srv := &part.mcp.servers[i]
		srv.Plugin, srv.Name = p.Name, "plugin_"+p.Name+"_"+srv.Name
		if why := badServerName(srv.Name); why != "" && srv.Status == "" {
			srv.Status, srv.Reason = MCPInvalid, "the name "+srv.Name+" "+why
		}
		for _, text := range []*string{&srv.Command, &srv.URL, &srv.Dir} {
			*text = p.Fill(*text)
		}
		for i := range srv.Args {
			srv.Args[i] = p.Fill(srv.Args[i])
		}
		for _, pairs := range []map[string]string{srv.Env, srv.Headers} {
			for name, value := range pairs {
				pairs[name] = p.Fill(value)
			}
		}
		if srv.Dir != "" && !filepath.IsAbs(srv.Dir) && !strings.HasPrefix(srv.Dir, "${") {
			srv.Dir = filepath.Join(p.Root, srv.Dir)
		}
		if srv.Type == MCPStdio {
			if srv.Env == nil {
				srv.Env = map[string]string{}
			}
			srv.Env[plugin.RootVariable] = p.Root
		}
		srv.seal()
	}
	return part
}
