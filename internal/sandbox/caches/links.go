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

// cacheView shows one folder of the user in the caches of a project. The upper levels are new
// folders in which tools can write; depth is the number of these levels. Everything below them
// consists of links to files that tools can only read.
type cacheView struct {
	from  string // the user's folder
	at    string // the path of the folder in the caches
	depth int
	pick  func(name string) bool // nil means all
}

// views returns the folders that tools look for beside their cache. Files that tools would have to change are
// not shown: the tools download them again.
func (p *User) views() []cacheView {
	if p == nil || p.Home == "" {
		return nil
	}
	only := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	cache, cargo, gradle := p.folder("XDG_CACHE_HOME", ".cache"), p.folder("CARGO_HOME", ".cargo"), p.folder("GRADLE_USER_HOME", ".gradle")
	return []cacheView{
		{cache, xdg, 0, func(name string) bool { return !slices.Contains(notLinked, name) }},
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

// notLinked are the folders of the user's ~/.cache that are not linked, because tools must write
// there.
var notLinked = []string{
	"bazel", "bazelisk", "black", "ccache", "composer", "coursier", "deno", "electron", "go-build", "golangci-lint", "goimports", "gopls", "mise", "mypy", "node", "node-gyp",
	"pip", "pip-tools", "pnpm", "pre-commit", "pylint", "pypoetry", "ruff", "sccache", "staticcheck", "typescript", "uv", "virtualenv", "yarn", "zig",
}

// linkedFile is the name of a file in the caches. That file lists the user's folders that the links
// show, and when each was last changed.
const linkedFile = ".linked"

// show creates links to the user's caches, unless nothing has changed there since the last time. It
// removes links to missing files, because a tool could not create a folder in their place. If a
// command has created a file in the place of a link, that file stays.
func show(root *os.Root, views []cacheView) error {
	if last, err := root.ReadFile(linkedFile); err == nil && len(views) > 0 && unchanged(string(last), views) {
		return nil
	}
	var seen strings.Builder
	var err error
	for _, v := range views {
		fmt.Fprintln(&seen, v.from)
		err = errors.Join(err, v.show(root, &seen))
	}
	if err == nil {
		err = root.WriteFile(linkedFile, []byte(seen.String()), 0o600)
	}
	return err
}

// stamp returns a line with the time of the last change of a folder.
func stamp(dir string) (string, fs.FileInfo) {
	info, err := os.Stat(dir)
	if err != nil {
		return "- " + dir, nil
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", dir), info
}

// unchanged reports whether the folders are the same as last time, and have not changed.
func unchanged(last string, views []cacheView) bool {
	i := 0
	for line := range strings.Lines(last) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.Contains(line, " /") { // the first line of a view
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

// removeDead removes the links of a view whose targets no longer exist.
func (v cacheView) removeDead(root *os.Root) (err error) {
	links, _ := fs.ReadDir(root.FS(), v.at) // an error is ignored: a command may have replaced the folder with anything
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
