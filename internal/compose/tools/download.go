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

// launcher is a program that downloads a server and then starts it.
type launcher struct {
	registry string
	with     []string          // the first arguments for which the program downloads; nil if it always downloads
	offline  map[string]string // variables that make it use only its cache, so that it fails at once if something is missing
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

// launcherOf returns the launcher of a server; nil if nothing is downloaded.
func launcherOf(srv *settings.MCPServer) *launcher {
	l, ok := launchers[filepath.Base(srv.Command)]
	if !ok || l.with != nil && (len(srv.Args) == 0 || !slices.Contains(l.with, srv.Args[0])) {
		return nil
	}
	return &l
}

// RegistryOf returns the registry from which a server is downloaded when it starts; "" if it is not
// downloaded.
func RegistryOf(srv *settings.MCPServer) string {
	if l := launcherOf(srv); l != nil {
		return l.registry
	}
	return ""
}

// fromCache makes a downloaded server start from the cache if the sandbox has no network. Without
// this, npx retries for minutes.
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
	one.StartHint = "commands have no network, and the server may not be downloaded yet; hint: holdfast mcp fetch " + srv.Key()
}

// downloadTime is the time limit for downloading and starting a server.
const downloadTime = 10 * time.Minute

// OpenForDownload opens an approved server to download it: in the sandbox, with the project's
// caches, and with the given hosts, if the settings permit them. The caller connects to it and
// closes the result.
func OpenForDownload(e *env.Env, s *settings.Settings, srv *settings.MCPServer, hosts []string) (*CheckedServers, error) {
	return openChecked(e, s, []*settings.MCPServer{srv}, hosts)
}
