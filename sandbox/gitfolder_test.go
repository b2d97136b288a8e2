package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestGitFolders checks that commands may write a repository elsewhere if and only if it names the folder.
func TestGitFolders(t *testing.T) {
	repo := func(name string, more ...string) []string {
		return append([]string{name + "/HEAD", name + "/config", name + "/hooks/", name + "/objects/", name + "/refs/"}, more...)
	}
	linked := slices.Clip(repo("r/.git", "r/.git/worktrees/w/commondir: ../..", "r/.git/worktrees/w/HEAD", "ws/.git: gitdir: ../r/.git/worktrees/w\n"))
	inBare := slices.Clip(repo("b.git", "b.git/worktrees/w/commondir: ../..", "b.git/worktrees/w/gitdir: @/b.git/ws/.git", "b.git/ws/.git: gitdir: ../worktrees/w"))
	for name, tt := range map[string]struct {
		tree   []string
		layers []testLayer
		write  string // besides the workspace
		fixed  string // some that are protected
	}{
		"a worktree":           {tree: append(linked, "r/.git/worktrees/w/gitdir: @/ws/.git\n"), write: "r/.git", fixed: "r/.git/config r/.git/hooks r/.git/worktrees/w/commondir ws/.git"},
		"with a relative path": {tree: append(linked, "r/.git/worktrees/w/gitdir: ../../../../ws/.git"), write: "r/.git"},
		"not known there":      {tree: linked},
		"known as another":     {tree: append(linked, "r/.git/worktrees/w/gitdir: @/other/.git")},
		"not the repository's": {tree: repo("r/.git", "evil/w/commondir: @/r/.git", "evil/w/gitdir: @/ws/.git", "ws/.git: gitdir: @/evil/w")},
		"no repository":        {tree: []string{"r/.git/worktrees/w/commondir: ../..", "r/.git/worktrees/w/gitdir: @/ws/.git", "ws/.git: gitdir: ../r/.git/worktrees/w"}},
		"a submodule":          {tree: append(repo("r/.git/modules/s"), "r/.git/modules/s/config: [core]\n\tworktree = ../../../../ws\n", "ws/.git: gitdir: ../r/.git/modules/s"), write: "r/.git/modules/s", fixed: "r/.git/modules/s/config r/.git/modules/s/hooks ws/.git"},
		"another's submodule":  {tree: append(repo("r/.git/modules/s"), "r/.git/modules/s/config: [core]\n\tworktree = ../../../s\n", "ws/.git: gitdir: ../r/.git/modules/s")},
		"a folder of git's":    {tree: append(repo("r/.git"), "ws/.git: gitdir: ../r/.git")},
		"only what is named":   {tree: append(linked, "r/.git/worktrees/w/gitdir: @/ws/.git"), layers: []testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/ws"}}}}},
		"denied":               {tree: append(linked, "r/.git/worktrees/w/gitdir: @/ws/.git"), layers: []testLayer{{Settings: Settings{DeniedPaths: []string{"@/r"}}}}},
		"inside a bare one":    {tree: append(inBare, "b.git/logs/", "ws -> b.git/ws"), write: "b.git/logs b.git/objects b.git/refs b.git/worktrees/w", fixed: "b.git/worktrees/w/commondir b.git/ws/.git"},
		"the agent's own":      {tree: append(repo("home/.holdfast/r", "home/.holdfast/r/worktrees/w/commondir: ../..", "home/.holdfast/r/worktrees/w/gitdir: @/ws/.git"), "ws/.git: gitdir: ../home/.holdfast/r/worktrees/w")},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, "home/", "other/")
			plantIn(t, root, tt.tree)
			if !slices.ContainsFunc(tt.tree, func(line string) bool { return strings.HasPrefix(line, "ws -> ") }) {
				plantIn(t, root, []string{"ws/"})
			}
			p, err := planFor(t, root, tt.layers...)
			if err != nil {
				t.Fatal(err)
			}
			others := slices.DeleteFunc(slices.Clone(p.policy.Write), func(w string) bool { return strings.HasSuffix(w, "/ws") })
			if got := relative(root, others); got != tt.write {
				t.Errorf("commands write %q, not %q", got, tt.write)
			}
			for _, f := range strings.Fields(tt.fixed) {
				if !slices.Contains(p.policy.ReadOnly, root+"/"+f) {
					t.Errorf("%s is not protected: %s", f, relative(root, p.policy.ReadOnly))
				}
			}
		})
	}
}
