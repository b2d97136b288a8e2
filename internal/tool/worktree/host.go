package worktree

import (
	"context"
	"path/filepath"
)

// Checkout is a worktree that a host has entered before the session's first turn.
type Checkout struct {
	Path, Branch string
	Created      bool   // created by this call
	Notice       string // the text for the model; "" if the worktree already existed
}

// CheckName returns the reason why the name of a worktree is invalid.
func CheckName(name string) error { return checkName(name) }

// Enter enters a worktree for the host, and creates it if necessary. This needs no approval. A
// session that is already in that worktree stays there. If name is "", the session stays in its
// current worktree; if it is in none, it enters the worktree named usual.
func (w *Worktree) Enter(ctx context.Context, name, usual string) (Checkout, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil && (name == "" || filepath.Base(w.current.path) == name) {
		return Checkout{Path: w.current.path, Branch: w.current.branch}, nil
	}
	if name == "" {
		name = usual
	}
	at, err := w.enterDir(ctx, name)
	if err != nil {
		return Checkout{}, err
	}
	return Checkout{Path: at.path, Branch: at.branch, Created: at.made, Notice: at.notice()}, nil
}

// Leave returns to the previous directory if the session is still in the worktree of Enter. With
// remove, the worktree and its branch are removed, unless they contain something that exists
// nowhere else, including ignored files. If they are not removed, the result why contains the
// reason. The result gone reports whether the worktree was removed.
func (w *Worktree) Leave(ctx context.Context, at Checkout, remove bool) (gone bool, why string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.current
	if in == nil || in.path != at.Path {
		return false, "", nil
	}
	if !remove || !in.created {
		return false, "", nil
	}
	other, err := innerWorktree(in)
	if err != nil {
		return false, "", err
	}
	if other != "" {
		return false, "it contains another worktree: " + other, nil
	}
	changes, err := w.changes(ctx, in, "--ignored", "--", ".", ":(exclude)"+Dir)
	if err != nil {
		return false, "", err
	}
	if changes != "" {
		return false, "it has uncommitted changes or files that git ignores", nil
	}
	commits, err := w.commits(ctx, in)
	if err != nil {
		return false, "", err
	}
	if commits != "" {
		return false, "it has commits that no other branch contains", nil
	}
	if err := w.folders.SetCwd(in.back); err != nil {
		return false, "", err
	}
	w.current = nil
	return true, "", w.remove(ctx, in, false)
}
