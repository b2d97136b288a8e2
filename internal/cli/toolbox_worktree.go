package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/worktree"
)

// worktreeKit lets the agent work in a checkout of its own, where its folder is a
// repository and git is there.
func (b *toolbox) worktreeKit() ([]tool.Tool, error) {
	if b.folders == nil {
		return nil, nil
	}
	if _, err := os.Lstat(filepath.Join(b.folders.Roots()[0], ".git")); err != nil {
		return nil, nil //nolint:nilerr // no repository, no worktrees
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, nil //nolint:nilerr // nothing could be done with them
	}
	w, err := worktree.New(b.folders, &worktree.Options{Create: b.worktreeCreate, Removed: b.worktreeRemoved})
	if err != nil {
		return nil, err
	}
	b.worktree = w
	return w.Tools(), nil
}

// worktreeCreate asks hooks about a worktree: they may refuse, or have made one.
func (b *toolbox) worktreeCreate(ctx context.Context, name string) (string, error) {
	out, err := b.host.fire(ctx, hook.Input{Event: hook.WorktreeCreate, Name: name})
	if err != nil {
		return "", err
	}
	if out.Block != nil {
		return "", errors.New("a hook keeps the worktree from being made: " + orElse(out.Block.What, out.Block.By))
	}
	return out.WorktreePath, nil
}

func (b *toolbox) worktreeRemoved(ctx context.Context, path string) {
	_, _ = b.host.fire(ctx, hook.Input{Event: hook.WorktreeRemove, Worktree: path}) // a store that fails stops the loop by itself
}

// goBack is [agent.Options].Return.
func (b *toolbox) goBack(dir string) error {
	if b.worktree != nil {
		return b.worktree.Return(dir)
	}
	return b.folders.SetCwd(dir)
}
