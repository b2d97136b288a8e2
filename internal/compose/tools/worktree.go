package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// worktreeKit lets the agent work in a checkout of its own, where its folder is a
// repository and git is there.
func (b *Toolbox) worktreeKit() ([]tool.Tool, error) {
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
func (b *Toolbox) worktreeCreate(ctx context.Context, name string) (string, error) {
	out, err := b.host.fire(ctx, hook.Input{Event: hook.WorktreeCreate, WorktreeName: name})
	if err != nil {
		return "", err
	}
	if out.Block != nil {
		return "", errors.New("a hook keeps the worktree from being made: " + cmp.Or(out.Block.Text, out.Block.Hook))
	}
	return out.WorktreePath, nil
}

func (b *Toolbox) worktreeRemoved(ctx context.Context, path string) {
	_, _ = b.host.fire(ctx, hook.Input{Event: hook.WorktreeRemove, WorktreePath: path}) // a store that fails stops the loop by itself
}

// CheckWorktree says why the agent cannot work in a worktree of its own from the beginning on.
func (b *Toolbox) CheckWorktree() error {
	if b.worktree == nil {
		dir := b.folders.Roots()[0]
		return outcome.Invalid(dir+" is not the top folder of a git repository, or git is not there: no worktree can be made", "git init; or --cwd FOLDER")
	}
	own, err := tool.NewRegistry(b.worktree.Tools()...)
	if err != nil {
		return err
	}
	if _, ok := RemoveDenied(own, b.settings.Rules).Lookup(worktree.EnterTool); !ok {
		return &outcome.Failure{Message: "a rule denies " + worktree.EnterTool, Advice: "holdfast policy show", Result: outcome.Denied}
	}
	return nil
}

// EnterWorktree is [agent.Options].EnterDir of an agent that works in a worktree of its own: the one of
// this name, or with "" one that is named after its session.
func (b *Toolbox) EnterWorktree(name, kind string) func(context.Context) (dir, told string, err error) {
	return func(ctx context.Context) (string, string, error) {
		if err := b.CheckWorktree(); err != nil {
			return "", "", err
		}
		own := worktreeName(ctx, kind)
		at, err := b.worktree.Enter(ctx, name, own)
		if err != nil {
			return "", "", fmt.Errorf("worktree: %w", err)
		}
		at.Created = at.Created || filepath.Base(at.Path) == own // it is nobody's but this session's
		b.own = &at
		return at.Path, at.Notice, nil
	}
}

// worktreeName is the name of a worktree that is the own one of the agent's session: its id where
// that can be a part of a name, and else what stands for it alone.
func worktreeName(ctx context.Context, kind string) string {
	id := rand.Text()
	if a := agent.FromContext(ctx); a != nil && a.SessionID() != "" {
		id = a.SessionID()
	}
	if name := kind + "-" + id; len(id) <= 16 && worktree.CheckName(name) == nil {
		return name
	}
	return kind + "-" + session.Digest(sha256.Sum256([]byte(id))).String()[:12]
}

// LeaveWorktree removes the worktree that the agent has worked in, where nothing would be lost by
// that, and says what stays; "" for nothing. With keep it stays in any case.
func (b *Toolbox) LeaveWorktree(ctx context.Context, keep bool) string {
	at := b.own
	if b.own = nil; at == nil {
		return ""
	}
	if b.Background != nil {
		for _, t := range b.Background.List() {
			keep = keep || t.Running
		}
	}
	gone, why, err := b.worktree.Leave(ctx, *at, at.Created && !keep)
	switch {
	case gone && err == nil:
		return ""
	case err != nil:
		why = err.Error()
	}
	text := fmt.Sprintf("the worktree %s stays, with the branch %s", at.Path, at.Branch)
	if why != "" {
		text += ": " + why
	}
	return text
}

// RestoreDir is [agent.Options].RestoreDir.
func (b *Toolbox) RestoreDir(dir string) error {
	if b.worktree != nil {
		return b.worktree.Return(dir)
	}
	return b.folders.SetCwd(dir)
}

// Checkout is the worktree that the agent works in from the beginning on, or nil.
func (b *Toolbox) Checkout() *worktree.Checkout { return b.own }
