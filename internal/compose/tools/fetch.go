package tools

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
)

// launcher is a program that fetches a server before it starts it.
type launcher struct {
	registry string
	with     []string          // the first words that make it one; nil: it always is
	offline  map[string]string // has it take what is in its cache, and fail at once otherwise
}

var (
	npmOffline  = map[string]string{"npm_config_offline": "true"}
	yarnOffline = map[string]string{"YARN_ENABLE_OFFLINE_MODE": "1"}
	uvOffline   = map[string]string{"UV_OFFLINE": "1"}
)

var launchers = map[string]launcher{
	"npx":  {"@npm", nil, npmOffline},
	"npm":  {"@npm", []string{"exec", "x"}, npmOffline},
	"pnpm": {"@npm", []string{"dlx"}, npmOffline},
	"pnpx": {"@npm", nil, npmOffline},
	"yarn": {"@npm", []string{"dlx"}, yarnOffline},
	"bunx": {"@npm", nil, nil},
	"bun":  {"@npm", []string{"x"}, nil},
	"uvx":  {"@pypi", nil, uvOffline},
	"uv":   {"@pypi", []string{"tool", "run"}, uvOffline},
	"pipx": {"@pypi", []string{"run"}, nil},
}

// launcherOf is what fetches a server; nil: nothing does.
func launcherOf(srv *settings.MCPServer) *launcher {
	l, ok := launchers[filepath.Base(srv.Command)]
	if !ok || l.with != nil && (len(srv.Args) == 0 || !slices.Contains(l.with, srv.Args[0])) {
		return nil
	}
	return &l
}

// RegistryOf is the registry that a server is fetched from when it starts; "": it is not.
func RegistryOf(srv *settings.MCPServer) string {
	if l := launcherOf(srv); l != nil {
		return l.registry
	}
	return ""
}

// fromCache has a server that would be fetched start from its cache, where the sandbox has no
// network: without it, npx tries for minutes.
func (b *Toolbox) fromCache(srv *settings.MCPServer, one *mcp.Server) {
	l := launcherOf(srv)
	if l == nil || b.isolation.Sandbox() == nil || len(b.isolation.Sandbox().Hosts()) > 0 {
		return
	}
	one.Env = maps.Clone(one.Env)
	if one.Env == nil {
		one.Env = map[string]string{}
	}
	for name, value := range l.offline {
		if _, set := one.Env[name]; !set {
			one.Env[name] = value
		}
	}
	one.StartHint = "commands have no network, and it may not have been fetched: holdfast mcp fetch " + srv.Key()
}

// fetchTime is how long a server may take to be fetched and started.
const fetchTime = 10 * time.Minute

// OpenForDownload opens an approved server to have it fetched: in the sandbox, with the caches of the
// project, and with hosts that may be reached as far as the settings let them. The caller connects
// to it and closes what it returns.
func OpenForDownload(e *env.Env, s *settings.Settings, srv *settings.MCPServer, hosts []string) (*CheckedServers, error) {
	return openChecked(e, s, []*settings.MCPServer{srv}, hosts)
}
