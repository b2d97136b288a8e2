package caches

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A view shows a folder of the person in the caches of a project: as folders of its own down to depth, in
// which tools can write, and below as links, which they can only read.
type cacheView struct {
	from  string // the person's folder
	at    string // below the caches
	depth int
	pick  func(name string) bool // nil is all
}

// views are what tools look for beside their cache. What they would have to change is not shown: they
// fetch that anew.
func (p *User) views() []cacheView {
	if p == nil || p.Home == "" {
		return nil
	}
	only := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	cache, cargo, gradle := p.folder("XDG_CACHE_HOME", ".cache"), p.folder("CARGO_HOME", ".cargo"), p.folder("GRADLE_USER_HOME", ".gradle")
	return []cacheView{
		{cache, xdg, 0, func(name string) bool { return !slices.Contains(unlinked, name) }},
		{filepath.Join(cache, "pypoetry", "virtualenvs"), "poetry/virtualenvs", 0, nil},
		{filepath.Join(p.folder("PNPM_HOME", ".local/share/pnpm"), ".tools"), "pnpm/.tools", 1, nil},
		{cargo, "cargo", 0, only("config", "config.toml")},
		{filepath.Join(cargo, "registry", "cache"), "cargo/registry/cache", 1, nil},
		{filepath.Join(cargo, "registry", "src"), "cargo/registry/src", 1, nil},
		{filepath.Join(cargo, "registry", "index"), "cargo/registry/index", 9, func(name string) bool { return name != ".git" }},
		{gradle, "gradle", 0, only("gradle.properties", "init.gradle", "init.gradle.kts", "init.d", "jdks")},
		{filepath.Join(gradle, "wrapper", "dists"), "gradle/wrapper/dists", 2, func(name string) bool { return !strings.HasSuffix(name, ".lck") && !strings.HasSuffix(name, ".part") }},
	}
}

// unlinked are the folders of a person's ~/.cache that are not linked to: tools must write there.
var unlinked = []string{
	"bazel", "bazelisk", "black", "ccache", "composer", "coursier", "deno", "electron", "go-build", "golangci-lint", "goimports", "gopls", "mise", "mypy", "node", "node-gyp",
	"pip", "pip-tools", "pnpm", "pre-commit", "pylint", "pypoetry", "ruff", "sccache", "staticcheck", "typescript", "uv", "virtualenv", "yarn", "zig",
}

// linked is a file in the caches: the person's folders that were shown, and when they had changed last.
const linked = ".linked"

// show makes links to the person's caches, unless nothing has changed there. It removes links to what is
// gone: a tool could make no folder there. What a command has put in the place of a link stays.
func show(root *os.Root, views []cacheView) error {
	if last, err := root.ReadFile(linked); err == nil && len(views) > 0 && unchanged(string(last), views) {
		return nil
	}
	var seen strings.Builder
	var err error
	for _, v := range views {
		fmt.Fprintln(&seen, v.from)
		err = errors.Join(err, v.show(root, &seen))
	}
	if err == nil {
		err = root.WriteFile(linked, []byte(seen.String()), 0o600)
	}
	return err
}

// stamp is a line about a folder: when it changed last.
func stamp(dir string) (string, fs.FileInfo) {
	info, err := os.Stat(dir)
	if err != nil {
		return "- " + dir, nil
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", dir), info
}

// unchanged says whether all folders are those of last time, and as they were.
func unchanged(last string, views []cacheView) bool {
	i := 0
	for line := range strings.Lines(last) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.Contains(line, " /") { // a view begins
			if i == len(views) || views[i].from != line {
				return false
			}
			i++
			continue
		}
		_, dir, _ := strings.Cut(line, " ")
		if now, _ := stamp(dir); now != line {
			return false
		}
	}
	return i == len(views)
}

func (v cacheView) show(root *os.Root, seen *strings.Builder) error {
	line, info := stamp(v.from)
	fmt.Fprintln(seen, line)
	if info == nil || !info.IsDir() {
		return v.removeDead(root)
	}
	entries, err := os.ReadDir(v.from)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err == nil {
		err = root.MkdirAll(v.at, 0o700)
	}
	for _, e := range entries {
		below := cacheView{filepath.Join(v.from, e.Name()), filepath.Join(v.at, e.Name()), v.depth - 1, v.pick}
		switch {
		case v.pick != nil && !v.pick(e.Name()):
		case v.depth > 0 && e.IsDir():
			err = errors.Join(err, below.show(root, seen))
		default:
			if lerr := root.Symlink(below.from, below.at); lerr != nil && !errors.Is(lerr, fs.ErrExist) {
				err = errors.Join(err, lerr)
			}
		}
	}
	return errors.Join(err, v.removeDead(root))
}

// removeDead removes the links of a view that lead to what is gone.
func (v cacheView) removeDead(root *os.Root) (err error) {
	links, _ := fs.ReadDir(root.FS(), v.at) // a command may have put anything in its place
	for _, l := range links {
		at := filepath.Join(v.at, l.Name())
		to, lerr := root.Readlink(at)
		if lerr != nil || to != filepath.Join(v.from, l.Name()) {
			continue
		}
		if _, gone := os.Lstat(to); errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, root.Remove(at))
		}
	}
	return err
}
