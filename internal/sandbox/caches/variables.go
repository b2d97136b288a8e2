package caches

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// xdg is the folder that XDG_CACHE_HOME names.
const xdg = "xdg"

// variables are the environment variables by which tools find their caches, and the folders that they
// name. readable is a folder of the person's home: where it exists, the tool works with it although it
// can only be read, and the variable is not set.
var variables = []struct{ name, folder, readable string }{
	{"XDG_CACHE_HOME", xdg, ""},
	{"GOCACHE", "go-build", ""}, {"GOMODCACHE", "go-mod", ""}, {"GOLANGCI_LINT_CACHE", "golangci-lint", ""}, {"STATICCHECK_CACHE", "staticcheck", ""},
	{"npm_config_cache", "npm", ""}, {pnpmStore, "pnpm", ""}, {"YARN_CACHE_FOLDER", "yarn", ""}, {"YARN_GLOBAL_FOLDER", "yarn-berry", ""}, {"COREPACK_HOME", "corepack", ""},
	{"PIP_CACHE_DIR", "pip", ""}, {"UV_CACHE_DIR", "uv", ""}, {"POETRY_CACHE_DIR", "poetry", ""}, {"PRE_COMMIT_HOME", "pre-commit", ""},
	{"CARGO_HOME", "cargo", ".cargo/registry"}, {"GRADLE_USER_HOME", "gradle", ".gradle/caches"},
	{"BUNDLE_USER_HOME", "bundle", ".bundle"}, {"GEM_SPEC_CACHE", "gem", ""}, {"COMPOSER_HOME", "composer", ""}, {"COMPOSER_CACHE_DIR", "composer-cache", ""},
	{"NUGET_PACKAGES", "nuget", ""}, {"DOTNET_CLI_HOME", "dotnet", ""},
	{"CCACHE_DIR", "ccache", ""}, {"SCCACHE_DIR", "sccache", ""},
}

// pnpmStore is set in projects that use pnpm: npm warns about it.
const pnpmStore = "npm_config_store_dir"

// A Project says for whom [Environ] makes an environment.
type Project struct {
	Dir    string // where commands work
	User   string // the person's home, whose Go modules are read; "" is none
	Online bool   // commands have a network

	MayWrite func(path string) bool // by the commands
}

// Environ returns the variables by which tools find their caches, at being the folder of the caches as
// commands see it. A variable of env that names a folder which commands may write is not set again.
func (p *Project) Environ(at string, env []string) []string {
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
		given := get(v.name)
		switch {
		case filepath.IsAbs(given) && p.MayWrite(given), v.readable != "" && isDir(filepath.Join(p.User, v.readable)), v.name == pnpmStore && !p.usesPnpm():
			continue
		}
		own[v.name] = true
		out = append(out, v.name+"="+filepath.Join(at, v.folder))
	}
	if own["GOMODCACHE"] {
		out = append(out, "GOPROXY="+proxy(modules(get, p.User), get("GOPROXY"), goEnv(p.User, "GOPROXY"), p.Online))
	}
	if !isDir(filepath.Join(p.User, ".m2", "repository")) {
		out = append(out, "MAVEN_OPTS="+strings.TrimSpace(get("MAVEN_OPTS")+" -Dmaven.repo.local="+filepath.Join(at, "maven")))
	}
	return out
}

func (p *Project) usesPnpm() bool {
	return slices.ContainsFunc([]string{"pnpm-lock.yaml", "pnpm-workspace.yaml"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(p.Dir, name))
		return err == nil
	})
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// modules is the person's own cache of Go modules.
func modules(get func(string) string, user string) string {
	for _, dir := range []string{get("GOMODCACHE"), goEnv(user, "GOMODCACHE"), get("GOPATH") + "/pkg/mod", goEnv(user, "GOPATH") + "/pkg/mod", user + "/go/pkg/mod"} {
		if filepath.IsAbs(dir) && dir != "/pkg/mod" {
			return dir
		}
	}
	return ""
}

// proxy is GOPROXY with the person's modules in it: before the servers when there is no network, and
// otherwise after them, so that "latest" is not the version that the person happens to have.
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
