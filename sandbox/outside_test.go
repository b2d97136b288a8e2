//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Scripts of a skill in the user's home can be run and not changed. Files below /tmp are not visible, so this
// home is elsewhere.
func TestScriptsOfSkills(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o700)
	}
	if err != nil || strings.HasPrefix(cache, os.TempDir()) || strings.HasPrefix(cache, "/tmp/") {
		t.Skip("the home folder of whoever runs this is temporary, and not seen inside")
	}
	root, err := os.MkdirTemp(cache, "holdfast-skill-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir := filepath.Join(root, "home/.claude/skills/x")
	for _, d := range []string{dir, root + "/ws"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "run.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"from the skill: $1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := opened(t, root)
	if out, ok := shell(t, s, script+" it"); !ok || out != "from the skill: it\n" {
		t.Errorf("%q", out)
	}
	for _, line := range []string{"echo x >> " + script, "rm " + script, "touch " + dir + "/new", "mv " + dir + " " + dir + "2"} {
		if out, ok := shell(t, s, line); ok {
			t.Errorf("%s: %s", line, out)
		}
	}
}

// A worktree is writable, below the workspace or as the workspace of a repository elsewhere; the files that
// lead git to its hooks and filters are not.
func TestWorktreeProtectsGitConfig(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Need(t, "no git on the PATH: apt-get install git makes this run")
	}
	for name, at := range map[string]struct{ main, tree, in string }{
		"below":     {"ws", ".holdfast/worktrees/side", "cd .holdfast/worktrees/side && "},
		"elsewhere": {"main", "../ws", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, at.main+"/f: x", "home/")
			for _, args := range [][]string{
				{"init", "-q"},
				{"config", "user.email", "a@b.test"},
				{"config", "user.name", "a"},
				{"add", "f"},
				{"commit", "-qm", "one"},
				{"worktree", "add", "-q", "-b", "side", at.tree},
			} {
				cmd := exec.Command("git", args...)
				cmd.Dir = root + "/" + at.main
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", args, out)
				}
			}
			s := opened(t, root)
			in := at.in + "g=$(git rev-parse --git-dir) && c=$(git rev-parse --git-common-dir) && "
			for _, line := range []string{
				"echo y > f && git commit -qam two && git log --oneline",
				"git branch other && git branch -d other && git stash list && echo z > f && git stash -q && git stash pop -q && git gc -q && git fsck",
			} {
				if out, ok := shell(t, s, in+line); !ok {
					t.Errorf("%s: %s", line, out)
				}
			}
			for _, line := range []string{
				"echo x > $c/hooks/post-commit", "mkdir -p $c/hooks/d", "git config core.hooksPath /tmp", "echo x >> $c/config", "echo x > $g/commondir",
				"echo x > $g/config.worktree", "echo x > $c/commondir", "echo x > .git", "rm .git", "mv $g $g.2",
				"mv $PWD ../other", "mv $c/hooks $c/h && mkdir $c/hooks",
			} {
				if out, ok := shell(t, s, in+line); ok {
					t.Errorf("%s: %s", line, out)
				}
			}
		})
	}
}
