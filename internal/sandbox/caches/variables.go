package caches

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// xdg is the folder for XDG_CACHE_HOME.
const xdg = "xdg"

// variables are the environment variables by which tools find their caches, with the folder for each.
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

// Project describes the project for which [Tools] make an environment.
type Project struct {
	Dir  string // where commands work
	User string // the user's home folder, whose caches are read; "" means none

	MayWrite func(path string) bool // reports whether commands may write a path
	Mapped   func(path string) bool // reports whether commands see a folder of the caches in place of a folder of [Stores]; nil means that they never do
}

// Tools determines the variables by which the tools of a project find their caches.
type Tools struct {
	project Project
	at      string
	goEnv   map[string]string
	maven   string // the user's repository
	nuget   string // the user's packages
	pnpm    bool
	store   string // the user's store, if pnpm finds the project's store at the same path
}

// Open checks, once, which caches the project and the user have. The parameter at is the path under
// which commands see the folder of the caches.
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

// existing returns a path if it is a folder, or "".
func existing(parts ...string) string {
	dir := filepath.Join(parts...)
	if !isDir(dir) {
		return ""
	}
	return dir
}

// Environ returns the variables to add to env. It does not replace a variable that names a folder which
// commands may write. The parameter online is true if commands have a network.
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
	added := map[string]bool{}
	set := func(name, value string) { out = append(out, name+"="+value) }
	for _, v := range variables {
		if given := get(v.name); filepath.IsAbs(given) && t.project.MayWrite(given) {
			continue
		}
		added[v.name] = true
		set(v.name, filepath.Join(t.at, v.folder))
	}
	if t.store != "" {
		set("pnpm_config_store_dir", t.store)
		if t.pnpm { // npm prints a warning about this variable, so only projects with pnpm get it
			set("npm_config_store_dir", t.store)
		}
	}
	if added["GOMODCACHE"] {
		set("GOPROXY", goProxy(t.goModuleCache(get), get("GOPROXY"), t.goEnv["GOPROXY"], online))
	}
	if read := filepath.Join(t.userFolder(get("GRADLE_USER_HOME"), ".gradle"), "caches"); added["GRADLE_USER_HOME"] && isDir(filepath.Join(read, "modules-2")) {
		set("GRADLE_RO_DEP_CACHE", read)
	}
	if given := get(gemHome); added[gemHome] && given != "" { // a trailing colon stands for Ruby's default folders
		path := get("GEM_PATH")
		if path == "" {
			path = given + ":"
		}
		set("GEM_PATH", filepath.Join(t.at, "gems")+":"+path)
	}
	if added["NUGET_PACKAGES"] && t.nuget != "" {
		set("NUGET_FALLBACK_PACKAGES", t.nuget)
	}
	return append(out, t.mavenOptions(get)...)
}

// mavenOptions give Maven a writable repository. Maven 3.9 also reads the user's repository as a
// "tail" repository; older versions download everything again.
func (t *Tools) mavenOptions(get func(string) string) []string {
	out := []string{"MAVEN_OPTS=" + strings.TrimSpace(get("MAVEN_OPTS")+" -Dmaven.repo.local="+filepath.Join(t.at, "maven"))}
	if t.maven != "" {
		out = append(out, "MAVEN_ARGS="+strings.TrimSpace(get("MAVEN_ARGS")+" -Dmaven.repo.local.tail="+t.maven))
	}
	return out
}

// userFolder returns a folder of the user: the given one, or one of the home folder.
func (t *Tools) userFolder(given, below string) string {
	if filepath.IsAbs(given) {
		return given
	}
	return filepath.Join(t.project.User, below)
}

// goModuleCache returns the user's cache of Go modules.
func (t *Tools) goModuleCache(get func(string) string) string {
	for _, dir := range []string{get("GOMODCACHE"), t.goEnv["GOMODCACHE"], get("GOPATH") + "/pkg/mod", t.goEnv["GOPATH"] + "/pkg/mod", t.project.User + "/go/pkg/mod"} {
		if filepath.IsAbs(dir) && dir != "/pkg/mod" {
			return dir
		}
	}
	return ""
}

// goProxy returns GOPROXY with the user's module cache added. Without a network, the cache comes
// before the servers. With a network, it comes after them, so that "latest" does not mean the
// version in the user's cache.
func goProxy(modules, given, file string, online bool) string {
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
