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
// name.
var variables = []struct{ name, folder string }{
	{"XDG_CACHE_HOME", xdg},
	{"GOCACHE", "go-build"}, {"GOMODCACHE", "go-mod"}, {"GOLANGCI_LINT_CACHE", "golangci-lint"}, {"STATICCHECK_CACHE", "staticcheck"},
	{"npm_config_cache", "npm"}, {"PNPM_HOME", "pnpm"}, {"YARN_GLOBAL_FOLDER", "yarn-berry"}, {"COREPACK_HOME", "corepack"},
	{"BUN_INSTALL_CACHE_DIR", "bun"},
	{"PIP_CACHE_DIR", "pip"}, {"UV_CACHE_DIR", "uv"}, {"POETRY_CACHE_DIR", "poetry"}, {"PRE_COMMIT_HOME", "pre-commit"},
	{"CARGO_HOME", "cargo"}, {"GRADLE_USER_HOME", "gradle"},
	{gemHome, "gems"}, {"GEM_SPEC_CACHE", "gem"}, {"BUNDLE_USER_CACHE", "bundle/cache"}, {"BUNDLE_USER_PLUGIN", "bundle/plugin"},
	{"COMPOSER_HOME", "composer"}, {"COMPOSER_CACHE_DIR", "composer-cache"}, {"HEX_HOME", "hex"}, {"PUB_CACHE", "pub"},
	{"NUGET_PACKAGES", "nuget"}, {"NUGET_HTTP_CACHE_PATH", "nuget-http"}, {"DOTNET_CLI_HOME", "dotnet"},
	{"CCACHE_DIR", "ccache"}, {"SCCACHE_DIR", "sccache"},
}

const gemHome = "GEM_HOME"

// A Project says for whom [Tools] make an environment.
type Project struct {
	Dir  string // where commands work
	User string // the person's home, whose caches are read; "" is none

	MayWrite func(path string) bool // by the commands
	Mapped   func(path string) bool // commands see their own in the place of a folder of [Stores]; nil: of none
}

// Tools are the variables by which the tools of a project find their caches.
type Tools struct {
	project Project
	at      string
	goEnv   map[string]string
	maven   string // the person's repository
	nuget   string // the person's packages
	pnpm    bool
	store   string // where pnpm finds the project's store as it finds the person's outside
}

// Open looks at what the project and the person have, once. at is the folder of the caches as commands see
// it.
func (p *Project) Open(at string) *Tools {
	t := &Tools{project: *p, at: at, goEnv: goEnv(p.User)}
	t.pnpm = slices.ContainsFunc([]string{"pnpm-lock.yaml", "pnpm-workspace.yaml", "node_modules/.pnpm"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(p.Dir, name))
		return err == nil
	})
	if p.User != "" {
		if store := Stores(p.User)[pnpmStore]; p.Mapped != nil && p.Mapped(store) {
			t.store = store
		}
		t.maven, t.nuget = existing(p.User, ".m2", "repository"), existing(p.User, ".nuget", "packages")
	}
	return t
}

// existing is a folder that is there, or "".
func existing(parts ...string) string {
	dir := filepath.Join(parts...)
	if !isDir(dir) {
		return ""
	}
	return dir
}

// Environ returns the variables for an environment. One of it that names a folder which commands may
// write is not set again. online says that commands have a network.
func (t *Tools) Environ(env []string, online bool) []string {
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
	set := func(name, value string) { out = append(out, name+"="+value) }
	for _, v := range variables {
		if given := get(v.name); filepath.IsAbs(given) && t.project.MayWrite(given) {
			continue
		}
		own[v.name] = true
		set(v.name, filepath.Join(t.at, v.folder))
	}
	if t.store != "" {
		set("pnpm_config_store_dir", t.store)
		if t.pnpm { // npm warns about it
			set("npm_config_store_dir", t.store)
		}
	}
	if own["GOMODCACHE"] {
		set("GOPROXY", proxy(t.modules(get), get("GOPROXY"), t.goEnv["GOPROXY"], online))
	}
	if read := filepath.Join(t.person(get("GRADLE_USER_HOME"), ".gradle"), "caches"); own["GRADLE_USER_HOME"] && isDir(filepath.Join(read, "modules-2")) {
		set("GRADLE_RO_DEP_CACHE", read)
	}
	if given := get(gemHome); own[gemHome] && given != "" { // a colon at the end stands for Ruby's own folders
		path := get("GEM_PATH")
		if path == "" {
			path = given + ":"
		}
		set("GEM_PATH", filepath.Join(t.at, "gems")+":"+path)
	}
	if own["NUGET_PACKAGES"] && t.nuget != "" {
		set("NUGET_FALLBACK_PACKAGES", t.nuget)
	}
	return append(out, t.mavenOptions(get)...)
}

// mavenOptions give Maven a repository to write, before the person's, which Maven 3.9 can read as its tail.
// An older one fetches anew.
func (t *Tools) mavenOptions(get func(string) string) []string {
	out := []string{"MAVEN_OPTS=" + strings.TrimSpace(get("MAVEN_OPTS")+" -Dmaven.repo.local="+filepath.Join(t.at, "maven"))}
	if t.maven != "" {
		out = append(out, "MAVEN_ARGS="+strings.TrimSpace(get("MAVEN_ARGS")+" -Dmaven.repo.local.tail="+t.maven))
	}
	return out
}

// person is a folder of the person: the one given, or one of the home.
func (t *Tools) person(given, below string) string {
	if filepath.IsAbs(given) {
		return given
	}
	return filepath.Join(t.project.User, below)
}

// modules is the person's own cache of Go modules.
func (t *Tools) modules(get func(string) string) string {
	for _, dir := range []string{get("GOMODCACHE"), t.goEnv["GOMODCACHE"], get("GOPATH") + "/pkg/mod", t.goEnv["GOPATH"] + "/pkg/mod", t.project.User + "/go/pkg/mod"} {
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
