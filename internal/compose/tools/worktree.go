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

// worktreeKit lets the agent work in its own git worktree, if its folder is a repository and git is
// installed.
func (b *Toolbox) worktreeKit() ([]tool.Tool, error) {
	if b.folders == nil {
		return nil, nil
	}
	if _, err := os.Lstat(filepath.Join(b.folders.Roots()[0], ".git")); err != nil {
		return nil, nil //nolint:nilerr // without a repository there are no worktrees
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, nil //nolint:nilerr // the worktrees would be useless
	}
	w, err := worktree.New(b.folders, &worktree.Options{Create: b.worktreeCreate, Removed: b.worktreeRemoved})
	if err != nil {
		return nil, err
	}
	b.worktree = w
	return w.Tools(), nil
}

// worktreeCreate runs hooks for a worktree: they may block it or create it themselves.
func (b *Toolbox) worktreeCreate(ctx context.Context, name string) (string, error) {
	out, err := b.agentHandle.fire(ctx, hook.Input{Event: hook.WorktreeCreate, WorktreeName: name})
	if err != nil {
		return "", err
	}
	if out.Block != nil {
		return "", errors.New("a hook blocks the worktree: " + cmp.Or(out.Block.Text, out.Block.Hook))
	}
	return out.WorktreePath, nil
}

func (b *Toolbox) worktreeRemoved(ctx context.Context, path string) {
	_, _ = b.agentHandle.fire(ctx, hook.Input{Event: hook.WorktreeRemove, WorktreePath: path}) // if the store fails, the loop stops anyway
}

// CheckWorktree returns why the agent cannot start in its own worktree.
func (b *Toolbox) CheckWorktree() error {
	if b.worktree == nil {
		dir := b.folders.Roots()[0]
		return outcome.Invalid(dir+" is not the top folder of a git repository, or git is not installed, so no worktree can be created", "run git init, or use --cwd FOLDER")
	}
	tools, err := tool.NewRegistry(b.worktree.Tools()...)
	if err != nil {
		return err
	}
	if _, ok := RemoveDenied(tools, b.settings.Rules).Lookup(worktree.EnterTool); !ok {
		return &outcome.Failure{Message: "a rule denies " + worktree.EnterTool, Advice: "holdfast policy show", Result: outcome.Denied}
	}
	return nil
}

// EnterWorktree returns [agent.Options].EnterDir for an agent that works in the worktree with this
// name. If the name is "", the worktree is named after the agent's session.
func (b *Toolbox) EnterWorktree(name, kind string) func(context.Context) (dir, notice string, err error) {
	return func(ctx context.Context) (string, string, error) {
		if err := b.CheckWorktree(); err != nil {
			return "", "", err
		}
		ofSession := worktreeName(ctx, kind)
		at, err := b.worktree.Enter(ctx, name, ofSession)
		if err != nil {
			return "", "", fmt.Errorf("worktree: %w", err)
		}
		at.Created = at.Created || filepath.Base(at.Path) == ofSession // the worktree belongs only to this session
		b.checkout = &at
		return at.Path, at.Notice, nil
	}
}

// worktreeName returns the worktree name of the agent's session: its id if that is a valid name,
// else a name derived from it.
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

// LeaveWorktree removes the agent's worktree if nothing would be lost. It returns a text that says
// what remains; "" if nothing remains. If keep is true, it always remains.
func (b *Toolbox) LeaveWorktree(ctx context.Context, keep bool) string {
	at := b.checkout
	if b.checkout = nil; at == nil {
		return ""
	}
	if b.Background != nil {
		for _, t := range b.Background.List() {
			keep = keep || t.Running
		}
	}
	removed, why, err := b.worktree.Leave(ctx, *at, at.Created && !keep)
	switch {
	case removed && err == nil:
		return ""
	case err != nil:
		why = err.Error()
	}
	text := fmt.Sprintf("worktree %s remains, with branch %s", at.Path, at.Branch)
	if why != "" {
		text += ": " + why
	}
	return text
}

// RestoreDir implements [agent.Options].RestoreDir.
func (b *Toolbox) RestoreDir(dir string) error {
	if b.worktree != nil {
		return b.worktree.Restore(dir)
	}
	return b.folders.SetCwd(dir)
}

// Checkout returns the worktree that the agent started in, or nil.
func (b *Toolbox) Checkout() *worktree.Checkout { return b.checkout }
