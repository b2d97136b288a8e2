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

// Settings returns the settings that apply to an agent. Its spec takes precedence over all layers
// except the managed one.
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
	o.Flags.Plugins = r.Spec.PluginDirs
	for _, dir := range r.Spec.AddDirs {
		abs, err := r.Env.Folder(dir)
		if err != nil {
			return nil, err
		}
		o.Flags.Folders = append(o.Flags.Folders, abs)
	}
	return settings.Load(o)
}

// SettingsNotices reports settings of an untrusted folder that are ignored, and problems of
// settings.
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
	if what, hint := s.PluginNotice(); what != "" {
		list = append(list, env.Notice{Text: what, Hint: hint})
	}
	for _, w := range s.Warnings {
		list = append(list, env.Notice{Text: fmt.Sprint(w), Hint: w.Hint})
	}
	return list
}

// ServerNotices reports the MCP servers that are not started.
func ServerNotices(folder string, servers []settings.MCPServer) (list []env.Notice) {
	for _, n := range settings.MCPNotices(folder, servers) {
		list = append(list, env.Notice{Text: n.Text, Hint: n.Hint})
	}
	return list
}

// systemPrompt is the default system prompt. For one folder, this text and the text after it never
// change, so that providers can cache both.
//
//go:embed prompt.md
var systemPrompt string

// SystemPrompt returns the system prompt of an agent that works in cwd. The parameter style is the text
// that an output style adds to the default prompt.
func SystemPrompt(spec *runspec.Spec, cwd, style string) string {
	text := fmt.Sprintf("%s\nWorking folder: %s\nPlatform: %s/%s\n", systemPrompt, cwd, runtime.GOOS, runtime.GOARCH)
	for _, dir := range spec.AddDirs {
		text += "Additional folder: " + dir + "\n"
	}
	if style != "" {
		text += "\nHow to write to the user:\n\n" + style + "\n"
	}
	if spec.Instructions.System != "" {
		text = spec.Instructions.System
	}
	if more := spec.Instructions.AppendSystem; more != "" {
		text = strings.TrimRight(text, "\n") + "\n\n" + more
	}
	return text
}
