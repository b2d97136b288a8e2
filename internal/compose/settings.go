package compose

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// Settings are the settings that apply to an agent, with what its spec says as the
// strongest layer but the administrator's.
func Settings(r *Request) (*settings.Settings, error) {
	p := &r.Spec.Permissions
	o, err := r.Env.SettingsOptions(r.Cwd, p.Settings)
	if err != nil {
		return nil, err
	}
	if o.Flags, err = tools.Flags(r.Spec); err != nil {
		return nil, err
	}
	o.Portable, o.MCP, o.StrictMCP = r.Preloaded, r.Spec.MCP.Configs, r.Spec.MCP.Strict
	for _, dir := range r.Spec.AddDirs {
		abs, err := r.Env.Folder(dir)
		if err != nil {
			return nil, err
		}
		o.Flags.Folders = append(o.Flags.Folders, abs)
	}
	return settings.Load(o)
}

// SettingsNotices say what an untrusted folder asks for and does not get, and what is wrong
// with settings.
func SettingsNotices(s *settings.Settings) (list []env.Notice) {
	if what, hint := s.Notice(); what != "" {
		list = append(list, env.Notice{Text: what, Hint: hint})
	}
	if what, hint := s.HookNotice(); what != "" {
		list = append(list, env.Notice{Text: what, Hint: hint})
	}
	list = append(list, ServerNotices(s.Project, s.MCPServers)...)
	if what, hint := s.UnsupportedNotice(); what != "" {
		list = append(list, env.Notice{Text: what, Hint: hint})
	}
	for _, w := range s.Warnings {
		list = append(list, env.Notice{Text: fmt.Sprint(w)})
	}
	return list
}

// ServerNotices say which MCP servers are left out.
func ServerNotices(folder string, servers []settings.MCPServer) (list []env.Notice) {
	for _, n := range settings.MCPNotices(folder, servers) {
		list = append(list, env.Notice{Text: n.Text, Hint: n.Hint})
	}
	return list
}

// systemPrompt is the default. Its bytes, and what follows it, stay the same for a folder,
// so that providers can cache them.
//
//go:embed prompt.md
var systemPrompt string

// System is the system prompt of an agent that works in cwd. style is what an output style adds
// to the default one.
func System(spec *runspec.Spec, cwd, style string) string {
	text := fmt.Sprintf("%s\nWorking folder: %s\nPlatform: %s/%s\n", systemPrompt, cwd, runtime.GOOS, runtime.GOARCH)
	for _, dir := range spec.AddDirs {
		text += "Additional folder: " + dir + "\n"
	}
	if style != "" {
		text += "\nHow to write to the person:\n\n" + style + "\n"
	}
	if spec.Instructions.System != "" {
		text = spec.Instructions.System
	}
	if more := spec.Instructions.AppendSystem; more != "" {
		text = strings.TrimRight(text, "\n") + "\n\n" + more
	}
	return text
}
