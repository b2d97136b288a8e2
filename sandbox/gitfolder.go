package sandbox

import (
	"os"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// gitFolders returns the repositories of workspace folders that are linked worktrees or submodules,
// and so have a .protectGit file instead of a .protectGit folder. In these repositories commands may write the
// same files as in a .protectGit folder.
//
//	side/.protectGit                    gitdir: /repo/.protectGit/worktrees/side
//	/repo/.protectGit/worktrees/side/
//	  gitdir                     /side/.protectGit: the repository knows this worktree
//	  commondir                  ../..
//
// The repository must name the folder, as it does if git created the .protectGit file, because a .protectGit file
// may also come from an unpacked archive. If the repository contains the folder, which is possible
// for a bare repository, only the paths that a commit needs are writable, because the repository
// also contains other worktrees. Without mounts, gitFolders returns nothing, because hooks could
// not be protected.
func (c *compiler) gitFolders() []pathTree {
	if c.merged.Weaker.Set && kernel.Namespaces() != nil {
		return nil
	}
	var out []pathTree
	for _, f := range c.folders {
		dir, shared := c.linkedTo(f.path)
		trees := []string{shared}
		switch {
		case shared == "" || shared == c.home:
			continue
		case within(f.path, shared):
			trees = []string{dir, path.Join(shared, "objects"), path.Join(shared, "refs"), path.Join(shared, "logs")}
		}
		for _, tree := range trees {
			a := pathTree{path: tree, literal: tree, git: true}
			if isDir(tree) && treeOf(c.folders, tree) == nil && c.mayWrite(&a) == nil {
				out = append(out, a)
			}
		}
	}
	return out
}

// linkedTo returns the git folder that the file .protectGit of a folder names, and the repository of that
// git folder. It returns them only if the repository names the folder.
func (c *compiler) linkedTo(folder string) (dir, shared string) {
	file := path.Join(folder, ".git")
	target, ok := strings.CutPrefix(firstLine(file), "gitdir:")
	if !ok {
		return "", ""
	}
	dir, err := realpath.Normalize(strings.TrimSpace(target), folder, c.home)
	if err != nil {
		return "", ""
	}
	if shared = c.commonDir(dir); shared == "" { // a submodule
		shared = dir
		c.watchContent(path.Join(dir, "config"))
		if !c.resolvesTo(coreWorktree(dir), dir, folder) {
			return "", ""
		}
	} else {
		back := path.Join(dir, "gitdir")
		c.watchContent(back)
		if path.Dir(dir) != path.Join(shared, "worktrees") || !c.resolvesTo(firstLine(back), dir, file) {
			return "", ""
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if !isDir(path.Join(shared, name)) {
			return "", ""
		}
	}
	_, err = os.Stat(path.Join(shared, "HEAD"))
	if err != nil {
		return "", ""
	}
	return dir, shared
}

// resolvesTo reports whether a path, relative to a folder, resolves to the canonical path want.
func (c *compiler) resolvesTo(name, from, want string) bool {
	got, err := realpath.Normalize(name, from, c.home)
	return name != "" && err == nil && got == want
}

// coreWorktree returns the folder that a repository's configuration names as its working tree.
func coreWorktree(dir string) (value string) {
	for _, s := range gitSettings(readHead(path.Join(dir, "config"), 1<<20)) {
		if s.key == "core.worktree" {
			value = s.value
		}
	}
	return value
}
