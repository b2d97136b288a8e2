package settings_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// writePlugin writes a plugin with a hook, which runs a script of the plugin, and a server.
func (p testHome) writePlugin(dir, name string) {
	p.write(dir+"/.claude-plugin/plugin.json", `{"name": "`+name+`", "outputStyles": "./x"}`)
	p.write(dir+"/hooks/hooks.json", `{"hooks": {"PreToolUse": [{"hooks": [
		{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}\"/check.sh"}, {"type": "prompt", "prompt": "x"}]}]}}`)
	p.write(dir+"/check.sh", "exit 0")
	p.write(dir+"/.mcp.json", `{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["${CLAUDE_PLUGIN_ROOT}/data", "${OTHER}"], "cwd": "run"}, "bad": {"url": 5}}}`)
}

const checkHook = `"${CLAUDE_PLUGIN_ROOT}"/check.sh`

// The hooks of a plugin of the user run, and its servers are started. Servers have the names that they
// have in Claude Code, and know the plugin's folder.
func TestPluginOfTheUser(t *testing.T) {
	p := newTestHome(t)
	p.writePlugin("user/kit", "kit")
	p.write("home/settings.json", `{"plugins": ["~/kit"]}`)
	s := p.load()
	if got := states(s); got != checkHook+" trusted" {
		t.Error(got)
	}
	root := p.path("user/kit")
	if got := s.Hooks[0].Vars["CLAUDE_PLUGIN_ROOT"]; got != root || s.HookAccess(&s.Hooks[0].Definition) != "write" {
		t.Errorf("%q", got)
	}
	wantServers(t, s, "plugin_kit_bad invalid", "plugin_kit_db approved")
	srv := s.FindMCP("plugin_kit_db")
	if srv.Command != root+"/db" || !slices.Equal(srv.Args, []string{root + "/data", "${OTHER}"}) || srv.Dir != root+"/run" || srv.Env["CLAUDE_PLUGIN_ROOT"] != root {
		t.Errorf("%+v", srv)
	}
	left := keys(s.Foreign, func(f settings.UnsupportedSetting) string { return f.Key })
	if !slices.Equal(left, []string{"plugin kit: outputStyles", "hooks"}) {
		t.Errorf("not used: %q", left)
	}
	if what, hint := s.PluginNotice(); what != "parts of the plugin kit are not used here" || hint != "holdfast plugins" {
		t.Error(what, hint)
	}
	if what, _ := s.UnsupportedNotice(); what != "" {
		t.Error(what)
	}
	p.write("etc/settings.json", `{"allowManagedHooksOnly": true, "deniedMcpServers": [{"serverName": "plugin_kit_db"}]}`)
	s = p.load()
	if got := states(s); got != checkHook+" disabled" {
		t.Error(got)
	}
	wantServers(t, s, "plugin_kit_bad invalid", "plugin_kit_db denied")
	p.write("etc/settings.json", `{"allowManagedHooksOnly": true, "plugins": ["`+root+`"]}`)
	if got := states(p.load()); got != checkHook+" trusted, "+checkHook+" disabled" {
		t.Error(got)
	}
}

// The parts of a project's plugin are trusted as if they were in the project's own files: hooks with
// the content of the plugin's scripts, servers one by one.
func TestPluginOfTheProject(t *testing.T) {
	p := newTestHome(t)
	p.writePlugin("project/tools/kit", "kit")
	p.write("project/.holdfast/settings.json", `{"plugins": ["tools/kit"]}`)
	s := p.load()
	if got := states(s); got != checkHook+" untrusted" || !s.Plugins[0].Untrusted {
		t.Error(got)
	}
	wantServers(t, s, "plugin_kit_bad invalid", "plugin_kit_db pending")
	if len(s.Ignored) != 1 || s.Ignored[0].Setting != "plugin "+p.path("project/tools/kit") {
		t.Errorf("%+v", s.Ignored)
	}
	p.trust()
	s = p.load()
	if got := states(s); got != checkHook+" trusted" || s.Plugins[0].Untrusted {
		t.Error(got)
	}
	wantServers(t, s, "plugin_kit_bad invalid", "plugin_kit_db pending")
	p.decide("plugin_kit_db", true)
	wantServers(t, p.load(), "plugin_kit_bad invalid", "plugin_kit_db approved")
	p.write("project/tools/kit/check.sh", "exit 1")
	if got := states(p.load()); got != checkHook+" modified" {
		t.Error(got)
	}
	s, err := s.Reload()
	if err != nil || states(s) != checkHook+" modified" {
		t.Error(err)
	}
}

// A plugin that cannot be read is an error that says where it is named. A plugin of a project must be
// in the project: also a link does not lead out.
func TestPluginRefused(t *testing.T) {
	p := newTestHome(t)
	p.writePlugin("user/kit", "kit")
	if err := os.Symlink(p.path("user/kit"), p.path("project/link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, text, want string }{
		{"home/settings.json", `{"plugins": ["gone"]}`, p.path("home/gone") + ": the plugin's folder cannot be read: no such file or directory (named by " + p.path("home/settings.json") + ":1:14)"},
		{"home/settings.json", `{"plugins": ["~/kit/hooks"]}`, p.path("user/kit/hooks") + ": not a plugin"},
		{"home/settings.json", `{"plugins": "x"}`, "plugins is a text, want a list"},
		{"home/settings.json", `{"enabledPlugins": {}}`, `unknown key "enabledPlugins"`},
		{"project/.holdfast/settings.json", `{"plugins": ["~/kit"]}`, "a project's settings can only name plugins in the project"},
		{"project/.holdfast/settings.local.json", `{"plugins": ["link"]}`, "a project's settings can only name plugins in the project"},
	} {
		p.write(tt.file, tt.text)
		_, err := settings.Load(p.options())
		if !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.text, err)
		}
		p.write(tt.file, `{}`)
	}
}

// A plugin of --plugin-dir replaces one with the same name that settings name.
func TestPluginOfAFlag(t *testing.T) {
	p := newTestHome(t)
	p.writePlugin("user/kit", "kit")
	p.writePlugin("user/work", "kit")
	p.write("home/settings.json", `{"plugins": ["~/kit"]}`)
	o := p.options()
	o.Flags.Plugins = []string{p.path("user/work")}
	s, err := settings.Load(o)
	if err != nil || len(s.Plugins) != 1 || s.Plugins[0].Root != p.path("user/work") || states(s) != checkHook+" trusted" {
		t.Errorf("%+v, %v", s, err)
	}
	wantServers(t, s, "plugin_kit_bad invalid", "plugin_kit_db approved")
	o.StrictMCP = true
	if s, err = settings.Load(o); err != nil || len(s.MCPServers) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	p.write("home/settings.json", `{"plugins": ["~/kit", "~/work"]}`)
	if s = p.load(); len(s.Plugins) != 2 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Detail, "is also named kit") {
		t.Errorf("%+v", s.Warnings)
	}
}

// A container has only the project's files. A plugin of the administrator must not get lost there.
func TestPluginInAContainer(t *testing.T) {
	p := newTestHome(t)
	p.writePlugin("user/kit", "kit")
	p.writePlugin("project/own", "own")
	p.write("home/settings.json", `{"plugins": ["~/kit"]}`)
	p.write("project/.holdfast/settings.json", `{"plugins": ["own"]}`)
	p.trust()
	load := func() (*settings.Settings, error) {
		o := p.options()
		var err error
		if o.Portable, err = settings.NewPortable(p.options()); err != nil {
			t.Fatal(err)
		}
		return settings.Load(o)
	}
	s, err := load()
	if err != nil || len(s.Plugins) != 1 || s.Plugins[0].Name != "own" || states(s) != checkHook+" trusted" ||
		len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Detail, "a container sees only plugins in the project") {
		t.Errorf("%+v, %v", s, err)
	}
	p.write("etc/settings.json", `{"plugins": ["`+p.path("user/kit")+`"]}`)
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "this plugin of the managed settings is not used") {
		t.Error(err)
	}
}

// Import takes the plugins that Claude Code has enabled and installed.
func TestImportPlugins(t *testing.T) {
	p := newTestHome(t)
	kit := "user/.claude/plugins/cache/market/kit/1.0"
	p.writePlugin(kit, "kit")
	p.write("user/.claude/plugins/installed_plugins.json", `{"version": 2, "plugins": {
		"kit@market": [{"scope": "user", "installPath": "~/.claude/plugins/cache/market/kit/1.0", "version": "1.0"}],
		"other@market": [{"scope": "project", "projectPath": "/elsewhere", "installPath": "/x"}],
		"broken@market": [{"scope": "user", "installPath": "`+p.path("user/gone")+`"}],
		"off@market": [{"scope": "user", "installPath": "`+p.path(kit)+`"}]}}`)
	enabled := `{"enabledPlugins": {"kit@market": true, "other@market": true, "broken@market": ["1"], "off@market": false}}`
	p.write("user/.claude/settings.json", enabled)
	done := p.importAs(layernames.User, "claude")
	left := func() string {
		return strings.Join(keys(done.Unsupported, func(f settings.UnsupportedSetting) string { return f.Key + ": " + f.Reason }), "\n")
	}
	want := "enabledPlugins.other@market: it is not installed on this machine, and Holdfast downloads nothing\n" +
		"enabledPlugins.broken@market: " + p.path("user/gone") + ": the plugin's folder cannot be read: no such file or directory"
	if got := p.read("home/settings.json"); !strings.Contains(got, `"`+p.path(kit)+`"`) || left() != want {
		t.Errorf("%s\n%s", got, left())
	}
	if s := p.load(); len(s.Plugins) != 1 || s.Plugins[0].Name != "kit" {
		t.Errorf("%+v", s.Plugins)
	}
	p.write("project/.claude/settings.json", `{"enabledPlugins": {"kit@market": true}}`)
	done = p.importAs(layernames.Project, "claude")
	if want := "enabledPlugins.kit@market: it is in " + p.path(kit) + `; name this folder in "plugins" of your own settings`; done.Written || left() != want {
		t.Error(left())
	}
}
