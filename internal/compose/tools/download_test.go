package tools

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestRegistryOf(t *testing.T) {
	for _, tt := range []struct {
		command string
		args    []string
		want    string
	}{
		{"npx", []string{"-y", "x"}, "@npm"},
		{"/usr/bin/npx", nil, "@npm"},
		{"npm", []string{"exec", "x"}, "@npm"},
		{"npm", []string{"start"}, ""},
		{"npm", nil, ""},
		{"pnpm", []string{"dlx", "x"}, "@npm"},
		{"yarn", []string{"dlx", "x"}, "@npm"},
		{"bunx", []string{"x"}, "@npm"},
		{"bun", []string{"run", "x"}, ""},
		{"uvx", []string{"x"}, "@pypi"},
		{"uv", []string{"tool", "run", "x"}, "@pypi"},
		{"uv", []string{"pip", "list"}, ""},
		{"pipx", []string{"run", "x"}, "@pypi"},
		{"node", []string{"npx"}, ""},
		{"", nil, ""},
	} {
		if got := RegistryOf(&settings.MCPServer{Command: tt.command, Args: tt.args}); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.command, tt.args, got, tt.want)
		}
	}
}

// Each launcher is told in its own way to take what is in its cache.
func TestOffline(t *testing.T) {
	for command, want := range map[string]string{"npx": "npm_config_offline", "pnpx": "npm_config_offline", "yarn": "YARN_ENABLE_OFFLINE_MODE", "uvx": "UV_OFFLINE"} {
		l := launcherOf(&settings.MCPServer{Command: command, Args: []string{"dlx"}})
		if l == nil || l.offline[want] == "" {
			t.Errorf("%s: %+v, want %s", command, l, want)
		}
	}
}
