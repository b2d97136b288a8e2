package worktree

import (
	"context"
	"path/filepath"
)

// Checkout is a worktree that a host has gone into before the session's first turn.
type Checkout struct {
	Path, Branch string
	Created      bool   // just then
	Notice       string // what the model is told; "" when it was there already
}

// CheckName says what is wrong with the name of a worktree.
func CheckName(name string) error { return checkName(name) }

// Enter goes into a worktree for the host, who need not ask a guard: it is made when it is not
// there. A session that is in it already stays there, with "" in whichever worktree it is.
// Without one the name is usual.
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
	return Checkout{Path: at.path, Branch: at.branch, Created: at.made, Notice: at.told()}, nil
}

// Leave goes back, when the session is still where Enter has left it. With remove the worktree
// and its branch are removed, unless something in them is nowhere else, what git ignores
// included: why then says so. It is gone when gone is true.
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
	other, err := inner(in)
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
