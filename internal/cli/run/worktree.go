package run

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

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
	p.Err.Line("%s continue there: holdfast run %s--worktree=%s PROMPT; remove it: %s", p.Err.Bold("hint:"), c.ResumeArgs(), left.Worktree, left.Remove)
}
