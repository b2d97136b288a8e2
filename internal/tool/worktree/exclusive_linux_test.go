package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
)

// When we are killed, git goes on, and keeps others from the worktree that it makes.
func TestCreateExclusive(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *'worktree add'*) { readlink /proc/$$/fd/3; cut -d' ' -f6 /proc/$$/stat; } > " + dir + "/seen ;; esac\nexec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	h := newRepoEnv(t, &worktree.Options{Git: filepath.Join(dir, "git")})
	h.call("EnterWorktree", `{"name":"x"}`, false, "on the branch worktree-x")
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	lock, session, _ := strings.Cut(strings.TrimSpace(string(seen)), "\n")
	if lock != filepath.Join(h.repo, worktree.Dir, ".lock") {
		t.Errorf("git holds %q", lock)
	}
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if f := strings.Fields(string(own)); f[5] == session {
		t.Errorf("git is of our session, %s", session)
	}
}
