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

// protectedNames is policy's list, prepared for comparison.
var protectedNames = sync.OnceValue(func() *nameSet {
	names := protectedpaths.Protected()
	n := &nameSet{names: map[string]bool{}, pairs: map[string]bool{}}
	for _, name := range slices.Concat(names.Folders, names.Files) {
		switch {
		case slices.Contains(packageManagerNames, name):
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

// packageManagerNames lists names from policy's list that package managers write with each package and that
// cannot do more than the packages themselves. Commands may write them, as they write node_modules.
var packageManagerNames = []string{".pnp.*"}

type nameSet struct {
	names    map[string]bool
	pairs    map[string]bool // ".config/git"
	patterns []string
}

// has reports whether a name in a folder named parent is protected.
func (n *nameSet) has(parent, name string) bool {
	name = strings.ToLower(name)
	if n.names[name] || n.pairs[strings.ToLower(parent)+"/"+name] {
		return true
	}
	for _, p := range n.patterns {
		prefix, _, _ := strings.Cut(p, "*")
		if strings.HasPrefix(name, prefix) {
			if ok, err := doublestar.Match(p, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// workspaceForbidden are the names that commands cannot create directly in a writable tree: agents and
// editors obey such a file as soon as it exists. The list is short, because each name has a
// placeholder while a command runs, which costs time. A name that ends in "/" is a folder.
var workspaceForbidden = []string{
	".holdfast/", ".claude/", ".mcp.json", ".codex/", ".gemini/", ".cursor/", ".vscode/", ".idea/", ".devcontainer/", ".envrc",
}

// homeForbidden returns the names that commands cannot create in the home folder, where every program
// looks for its settings: all of policy's list except those of projects.
var homeForbidden = sync.OnceValue(func() []string {
	var out []string
	names := protectedpaths.Protected()
	for _, name := range slices.Concat(names.Folders, names.Files) {
		if name[0] != '.' || strings.ContainsAny(name, "*?[{") || name == ".git" || partlyProtected[name] != nil {
			continue
		}
		if slices.Contains(names.Folders, name) {
			name += "/"
		}
		out = append(out, name)
	}
	return out
})

// partlyProtected are folders in which only some names are protected, because programs regularly write the
// others. A name that ends in "/" is a folder.
var partlyProtected = map[string][]string{
	".yarn":  {"releases/", "plugins/", "sdks/"},
	".cargo": {"config", "config.toml", "env"},
}

// agentFolderForbidden are the protected names in the folders of agents if these contain worktrees,
// which are writable.
var agentFolderForbidden = map[string][]string{
	".claude":   {"settings.json", "settings.local.json", "CLAUDE.md", "agents/", "commands/", "hooks/", "skills/", "plugins/", "rules/", "output-styles/"},
	".holdfast": {"settings.json", "settings.local.json", "project", "agents/", "skills/"},
}

// Built-in reasons.
var (
	secretReason   = planReason{text: "secrets are not readable"}
	decidingReason = planReason{text: "it decides what other programs do"}
)

// protect prevents changes, in writable trees, to files that decide what other programs do, and to
// the trees that protectedPaths names. If a setting names a tree in the folder that commands see as
// /tmp, that tree is not protected, because commands can write to it in /tmp anyway.
func (c *compiler) protect() error {
	for _, l := range c.layers {
		for _, p := range l.protected {
			if err := c.protectEntry(p); err != nil {
				return err
			}
		}
	}
	for _, w := range c.write {
		if info, err := os.Lstat(w.path); err != nil || !info.IsDir() || w.git {
			continue // protected parts of a repository are found through the file .protectGit
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

// protectEntry makes an entry of protectedPaths read-only, wherever its name resolves to, or forbids
// its creation.
func (c *compiler) protectEntry(p pathTree) error {
	for _, link := range symlinksOn(p.literal) {
		if c.isWritable(link) {
			return p.invalid(link+" is a symbolic link that commands could change", "use the link's target: "+p.path)
		}
	}
	full, err := realpath.Resolve(p.path)
	if err != nil {
		return p.invalid(fmt.Sprintf("%s: %v", p.path, err), "write the path without symbolic links")
	}
	if _, exists := lstat(full); exists {
		c.makeReadOnly(full, p.planReason)
	} else if c.isWritable(full) {
		c.forbidFirstComponent(full, p.planReason)
	}
	return nil
}

func (c *compiler) protectTree(root string) error {
	found := c.scanner.scan(root)
	if found.cut {
		c.addNotice("%s contains too many files to scan: protected names and repositories deep inside it may be missed", root)
	}
	for _, f := range found.names {
		if err := c.protectName(f.path, f.mode); err != nil {
			return err
		}
	}
	for _, dir := range found.bare {
		c.addNotice("%s is a repository without a .git folder: git uses its config there", dir)
		if err := c.protectRepository(dir); err != nil {
			return err
		}
	}
	c.watchContent(path.Join(root, ".git"))
	if c.home != "" && within(c.home, root) {
		if err := c.forbidNames(c.home, homeForbidden()); err != nil {
			return err
		}
	}
	return c.forbidNames(root, workspaceForbidden)
}

// forbidNames forbids names in a folder that do not exist. The scan has found the names that exist,
// unless they are deeper than it searches.
func (c *compiler) forbidNames(dir string, names []string) error {
	for _, name := range names {
		full := path.Join(dir, name)
		info, exists := lstat(full)
		switch {
		case !exists:
			c.forbidFirstComponent(full, decidingReason)
		case c.reasons[full] == (planReason{}) && !slices.Contains(c.pin, full):
			if err := c.protectName(full, info.Mode()); err != nil {
				return err
			}
		}
	}
	return nil
}

// lstat returns what a name is, without following symbolic links. The placeholder of a running
// sandbox is treated as nothing.
func lstat(full string) (os.FileInfo, bool) {
	info, err := os.Lstat(full)
	if err != nil || kernel.IsPlaceholderFile(full, info) {
		return nil, false
	}
	return info, true
}

// protectName protects an existing file or folder with a protected name.
func (c *compiler) protectName(full string, mode fs.FileMode) error {
	if inAny(c.hide, full) || kernel.IsPlaceholder(full) {
		return nil
	}
	name := strings.ToLower(path.Base(full))
	if mode&fs.ModeSymlink != 0 {
		return c.rejectLink(full)
	}
	switch {
	case name == ".git":
		return c.protectGit(full, mode)
	case !mode.IsDir():
	case partlyProtected[name] != nil:
		return c.protectInside(full, partlyProtected[name])
	case agentFolderForbidden[name] != nil && isDir(path.Join(full, "worktrees")):
		return c.protectAgentFolder(full)
	}
	c.makeReadOnly(full, decidingReason)
	return nil
}

// protectInside protects names in a folder that is otherwise writable.
func (c *compiler) protectInside(dir string, names []string) error {
	c.pinFolder(dir)
	for _, name := range names {
		if err := c.protectOrForbid(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// protectAgentFolder protects an agent's folder except its worktrees.
func (c *compiler) protectAgentFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		full := path.Join(dir, e.Name())
		switch {
		case e.Name() == "worktrees":
			if err := c.protectAgentWorktrees(full); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			return c.rejectLink(full)
		case kernel.IsPlaceholder(full): // a placeholder of a command that is running or has just ended
		default:
			c.makeReadOnly(full, decidingReason)
		}
	}
	return c.protectInside(dir, agentFolderForbidden[strings.ToLower(path.Base(dir))])
}

// protectAgentWorktrees protects in each worktree what is protected in a project: the scan does not search an
// agent's folder.
func (c *compiler) protectAgentWorktrees(dir string) error {
	c.pinFolder(dir)
	c.watchContent(dir) // this makes the sandbox notice a new worktree at once
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

// protectOrForbid makes existing names read-only and forbids missing ones.
func (c *compiler) protectOrForbid(full string) error {
	info, exists := lstat(full)
	switch {
	case !exists:
		c.forbidName(full, decidingReason)
	case info.Mode()&fs.ModeSymlink != 0:
		return c.rejectLink(full)
	default:
		c.makeReadOnly(full, decidingReason)
	}
	return nil
}

// rejectLink rejects a protected name that is a symbolic link: the kernel cannot keep a link in place.
func (c *compiler) rejectLink(full string) error {
	what := full + " is a symbolic link: a command could replace it, and it decides what other programs do"
	hint := "replace it with a file or a folder"
	if w := treeOf(c.write, full); w != nil {
		hint += ", or do not let commands write to " + w.path
	}
	return &Error{Detail: what, hint: hint}
}

func (c *compiler) makeReadOnly(full string, g planReason) {
	if _, ok := c.reasons[full]; ok {
		return
	}
	c.readOnly = append(c.readOnly, full)
	c.reasons[full] = g
}

func (c *compiler) pinFolder(dir string) {
	if !slices.Contains(c.pin, dir) {
		c.pin = append(c.pin, dir)
	}
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
