package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// protectedNames is policy's list, ready for comparing.
var protectedNames = sync.OnceValue(func() *nameSet {
	names := protectedpaths.Protected()
	n := &nameSet{names: map[string]bool{}, pairs: map[string]bool{}}
	for _, name := range slices.Concat(names.Folders, names.Files) {
		switch {
		case slices.Contains(installed, name):
		case strings.ContainsAny(name, "*?[{"):
			n.patterns = append(n.patterns, name)
		case strings.Contains(name, "/"):
			n.pairs[name] = true
		default:
			n.names[name] = true
		}
	}
	return n
})

// installed are the names of policy's list that package managers write with each package, and that decide
// no more than the packages do. Commands write them, as they write node_modules.
var installed = []string{".pnp.*"}

type nameSet struct {
	names    map[string]bool
	pairs    map[string]bool // ".config/git"
	patterns []string
}

// has reports whether a name in a folder with the name parent is protected.
func (n *nameSet) has(parent, name string) bool {
	name = strings.ToLower(name)
	if n.names[name] || n.pairs[strings.ToLower(parent)+"/"+name] {
		return true
	}
	for _, p := range n.patterns {
		lead, _, _ := strings.Cut(p, "*")
		if strings.HasPrefix(name, lead) {
			if ok, err := doublestar.Match(p, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// workspaceForbidden are the names that cannot be made directly in a tree that may be
// written: those that agents and editors obey as soon as they are there. The list
// is short, since each name has a placeholder while a command runs and costs time.
// A name that ends in "/" is a folder.
var workspaceForbidden = []string{
	".holdfast/", ".claude/", ".mcp.json", ".codex/", ".gemini/", ".cursor/", ".vscode/", ".idea/", ".devcontainer/", ".envrc",
}

// homeForbidden are the names that cannot be made in the home folder, where every
// program looks for its settings: all of policy's list but those of projects.
var homeForbidden = sync.OnceValue(func() []string {
	var out []string
	names := protectedpaths.Protected()
	for _, name := range slices.Concat(names.Folders, names.Files) {
		if name[0] != '.' || strings.ContainsAny(name, "*?[{") || name == ".git" || partly[name] != nil {
			continue
		}
		if slices.Contains(names.Folders, name) {
			name += "/"
		}
		out = append(out, name)
	}
	return out
})

// partly are protected folders of which programs write the rest in their daily
// work. A name that ends in "/" is a folder.
var partly = map[string][]string{
	".yarn":  {"releases/", "plugins/", "sdks/"},
	".cargo": {"config", "config.toml", "env"},
}

// agentFolderForbidden are the names that matter in the folders of agents when worktrees,
// which may be written, are there.
var agentFolderForbidden = map[string][]string{
	".claude":   {"settings.json", "settings.local.json", "CLAUDE.md", "agents/", "commands/", "hooks/", "skills/", "plugins/", "rules/", "output-styles/"},
	".holdfast": {"settings.json", "settings.local.json", "project", "agents/", "skills/"},
}

// Grounds that are built in.
var (
	secretGround   = planReason{text: "secrets are not readable"}
	decidingGround = planReason{text: "it decides what other programs do"}
)

// protect keeps what decides about other programs from being changed in the trees
// that may be written, and what protectedPaths name. What commands have as /tmp is
// open under that name, so a setting that names it opens it under its own too.
func (c *compiler) protect() error {
	for _, l := range c.layers {
		for _, p := range l.protected {
			if err := c.protectArea(p); err != nil {
				return err
			}
		}
	}
	for _, w := range c.write {
		if info, err := os.Lstat(w.path); err != nil || !info.IsDir() || w.git {
			continue // what of a repository is protected, is found by the file .git
		}
		if w.field != "" && c.temp != "" && within(w.path, c.temp) {
			continue
		}
		if err := c.protectTree(w.path); err != nil {
			return err
		}
	}
	return nil
}

// protectArea fixes or bars an entry of protectedPaths, wherever its name leads.
func (c *compiler) protectArea(p pathTree) error {
	for _, link := range linksOn(p.literal) {
		if c.written(link) {
			return p.wrong(link+" is a link that commands could change", "name what it leads to: "+p.path)
		}
	}
	full, err := realpath.Resolve(p.path)
	if err != nil {
		return p.wrong(fmt.Sprintf("%s: %v", p.path, err), "name it without links")
	}
	if _, there := lookAt(full); there {
		c.fix(full, p.planReason)
	} else if c.written(full) {
		c.forbidFirst(full, p.planReason)
	}
	return nil
}

func (c *compiler) protectTree(root string) error {
	found := c.scanner.scan(root)
	if found.cut {
		c.notice("%s holds too much to look through: protected names and repositories deep in it may be missed", root)
	}
	for _, f := range found.names {
		if err := c.protectName(f.path, f.mode); err != nil {
			return err
		}
	}
	for _, dir := range found.bare {
		c.notice("%s is a repository without a .git folder: git in it obeys its config", dir)
		if err := c.repository(dir); err != nil {
			return err
		}
	}
	c.remember(path.Join(root, ".git"))
	if c.home != "" && within(c.home, root) {
		if err := c.forbidNames(c.home, homeForbidden()); err != nil {
			return err
		}
	}
	return c.forbidNames(root, workspaceForbidden)
}

// forbidNames bars names in a folder that are not there. What is there was found by
// the scan, unless it lies deeper than that looks.
func (c *compiler) forbidNames(dir string, names []string) error {
	for _, name := range names {
		full := path.Join(dir, name)
		info, there := lookAt(full)
		switch {
		case !there:
			c.forbidFirst(full, decidingGround)
		case c.grounds[full] == (planReason{}) && !slices.Contains(c.pin, full):
			if err := c.protectName(full, info.Mode()); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt looks at what a name is, without following it. The placeholder of a
// running sandbox is nothing.
func lookAt(full string) (os.FileInfo, bool) {
	info, err := os.Lstat(full)
	if err != nil || kernel.IsPlaceholderFile(full, info) {
		return nil, false
	}
	return info, true
}

// protectName protects a file or folder with a protected name that is there.
func (c *compiler) protectName(full string, mode fs.FileMode) error {
	if inAny(c.hide, full) || kernel.IsPlaceholder(full) {
		return nil
	}
	name := strings.ToLower(path.Base(full))
	if mode&fs.ModeSymlink != 0 {
		return c.linked(full)
	}
	switch {
	case name == ".git":
		return c.git(full, mode)
	case !mode.IsDir():
	case partly[name] != nil:
		return c.inner(full, partly[name])
	case agentFolderForbidden[name] != nil && isDir(path.Join(full, "worktrees")):
		return c.besideWorktrees(full)
	}
	c.fix(full, decidingGround)
	return nil
}

// inner protects names in a folder that may be written otherwise.
func (c *compiler) inner(dir string, names []string) error {
	c.pinned(dir)
	for _, name := range names {
		if err := c.guard(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// agentFolderForbidden protects an agent's folder but for its worktrees.
func (c *compiler) besideWorktrees(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		full := path.Join(dir, e.Name())
		switch {
		case e.Name() == "worktrees":
			if err := c.worktrees(full); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			return c.linked(full)
		case kernel.IsPlaceholder(full): // of a command that runs, or has run just now
		default:
			c.fix(full, decidingGround)
		}
	}
	return c.inner(dir, agentFolderForbidden[strings.ToLower(path.Base(dir))])
}

// worktrees protects in each worktree what it protects in a project: the scan does not
// look into an agent's folder.
func (c *compiler) worktrees(dir string) error {
	c.pinned(dir)
	c.remember(dir) // a new one is seen at once
	for _, e := range entriesOf(dir, scanEntries) {
		if !e.IsDir() {
			continue
		}
		if err := c.protectTree(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// guard fixes what is there and bars what is not.
func (c *compiler) guard(full string) error {
	info, there := lookAt(full)
	switch {
	case !there:
		c.forbidden(full, decidingGround)
	case info.Mode()&fs.ModeSymlink != 0:
		return c.linked(full)
	default:
		c.fix(full, decidingGround)
	}
	return nil
}

// linked refuses a protected name that is a link: a link cannot be held in place.
func (c *compiler) linked(full string) error {
	what := full + " is a link: a command could put something else in its place, and it decides what other programs do"
	hint := "put a file or a folder there"
	if w := holding(c.write, full); w != nil {
		hint += ", or take " + w.path + " out of what may be written"
	}
	return &Error{Detail: what, hint: hint}
}

func (c *compiler) fix(full string, g planReason) {
	if _, ok := c.grounds[full]; ok {
		return
	}
	c.fixed = append(c.fixed, full)
	c.grounds[full] = g
}

func (c *compiler) pinned(dir string) {
	if !slices.Contains(c.pin, dir) {
		c.pin = append(c.pin, dir)
	}
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
