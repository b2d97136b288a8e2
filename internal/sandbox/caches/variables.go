package caches

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// xdg is the folder that XDG_CACHE_HOME names.
const xdg = "xdg"

// variables are those by which tools find their caches, the folders that they name, and what in the
// person's home a tool works with as well when it can only be read: it is left to it then.
var variables = []struct{ name, folder, readable string }{
	{"XDG_CACHE_HOME", xdg, ""},
	{"GOCACHE", "go-build", ""}, {"GOMODCACHE", "go-mod", ""}, {"GOLANGCI_LINT_CACHE", "golangci-lint", ""}, {"STATICCHECK_CACHE", "staticcheck", ""},
	{"npm_config_cache", "npm", ""}, {"npm_config_store_dir", "pnpm", ""}, {"YARN_CACHE_FOLDER", "yarn", ""}, {"YARN_GLOBAL_FOLDER", "yarn-berry", ""}, {"COREPACK_HOME", "corepack", ""},
	{"PIP_CACHE_DIR", "pip", ""}, {"UV_CACHE_DIR", "uv", ""}, {"POETRY_CACHE_DIR", "poetry", ""}, {"PRE_COMMIT_HOME", "pre-commit", ""},
	{"CARGO_HOME", "cargo", ".cargo/registry"}, {"GRADLE_USER_HOME", "gradle", ".gradle/caches"},
	{"BUNDLE_USER_HOME", "bundle", ".bundle"}, {"GEM_SPEC_CACHE", "gem", ""}, {"COMPOSER_HOME", "composer", ""}, {"COMPOSER_CACHE_DIR", "composer-cache", ""},
	{"NUGET_PACKAGES", "nuget", ""}, {"DOTNET_CLI_HOME", "dotnet", ""},
	{"CCACHE_DIR", "ccache", ""}, {"SCCACHE_DIR", "sccache", ""},
}

// Environ is what tools find their caches by, as commands see the folder: at. env is the environment that
// they have; what it names itself stays when mayWrite says so. user is the person's home, whose Go
// modules are read; online says that there is a network.
func Environ(at string, env []string, user string, online bool, mayWrite func(path string) bool) []string {
	get := func(name string) string {
		for _, entry := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
	var out []string
	own := map[string]bool{}
	for _, v := range variables {
		if given := get(v.name); filepath.IsAbs(given) && mayWrite(given) || v.readable != "" && isDir(filepath.Join(user, v.readable)) {
			continue
		}
		own[v.name] = true
		out = append(out, v.name+"="+filepath.Join(at, v.folder))
	}
	if own["GOMODCACHE"] {
		out = append(out, "GOPROXY="+proxy(modules(get, user), get("GOPROXY"), goEnv(user, "GOPROXY"), online))
	}
	if !isDir(filepath.Join(user, ".m2", "repository")) {
		out = append(out, "MAVEN_OPTS="+strings.TrimSpace(get("MAVEN_OPTS")+" -Dmaven.repo.local="+filepath.Join(at, "maven")))
	}
	return out
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// modules is the person's own module cache.
func modules(get func(string) string, user string) string {
	for _, dir := range []string{get("GOMODCACHE"), goEnv(user, "GOMODCACHE"), get("GOPATH") + "/pkg/mod", goEnv(user, "GOPATH") + "/pkg/mod", user + "/go/pkg/mod"} {
		if filepath.IsAbs(dir) && dir != "/pkg/mod" {
			return dir
		}
	}
	return ""
}

// proxy is GOPROXY with the person's modules in it: before the servers when none can be reached, and
// otherwise behind them, so that "latest" is not what the person happens to have.
func proxy(modules, given, file string, online bool) string {
	list := given
	if list == "" {
		list = file
	}
	if list == "" {
		list = "https://proxy.golang.org,direct"
	}
	downloads := filepath.Join(modules, "cache", "download")
	if modules == "" || !isDir(downloads) {
		return list
	}
	if !online {
		return "file://" + downloads + "," + list
	}
	for _, last := range []string{"direct", "off"} {
		if before, ok := strings.CutSuffix(list, last); ok {
			return strings.TrimRight(before, ",|") + "|file://" + downloads + "," + last
		}
	}
	return list + "|file://" + downloads
}

// goEnv is a value that `go env -w` has written.
func goEnv(user, name string) string {
	b, err := os.ReadFile(filepath.Join(user, ".config", "go", "env"))
	if err != nil || user == "" {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}
