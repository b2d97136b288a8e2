package run

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
)

// worktreeFlag is the flag --worktree. The name of the worktree is optional.
type worktreeFlag struct {
	set  bool
	name string // "" means a new worktree for the session
}

// defaultName is the value of the flag when it is given without a name. No worktree can have this
// name.
const defaultName = "/"

// WithoutValue returns the value of the flag when it is given without a name.
func (f *worktreeFlag) WithoutValue() string { return defaultName }

// SetText sets the name of the worktree.
func (f *worktreeFlag) SetText(name string) error {
	f.set = true
	if name == defaultName {
		return nil
	}
	f.name = name
	return worktree.CheckName(name)
}

// JoinWorktree joins --worktree and the word after it into one argument, if that word can be the
// name of a worktree.
func JoinWorktree(args []string) []string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if a == "--worktree" && i+1 < len(args) && worktree.CheckName(args[i+1]) == nil {
			return append(append(slices.Clone(args[:i]), a+"="+args[i+1]), args[i+2:]...)
		}
	}
	return args
}

// worktreePrinter returns a function that prints the worktree and the branch of the run.
func (c *Cmd) worktreePrinter(p *command.Program) func(path, branch string) {
	return func(path, branch string) {
		if !c.Quiet {
			p.Err.Line("%s", p.Err.Dim("in the worktree "+term.Escape(path)+", on the branch "+term.Escape(branch)))
		}
	}
}

// leaveWorktree removes the run's worktree, or prints why it is kept.
func (c *Cmd) leaveWorktree(ctx context.Context, p *command.Program, a *compose.Agent, out outcome.Outcome) {
	left := a.LeaveWorktree(ctx, out != outcome.OK)
	if left.Text == "" || c.Quiet {
		return
	}
	p.Warn("%s", term.Escape(left.Text))
	p.Err.Line("%s continue there: holdfast run %s--worktree=%s PROMPT; remove it: %s", p.Err.Bold("hint:"), c.resumeFlags(), left.Worktree, left.Remove)
}
