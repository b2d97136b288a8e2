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

// worktreeFlag is --worktree, whose name may be left out.
type worktreeFlag struct {
	set  bool
	name string // "": one of the session's own
}

// defaultName is what a flag without a value is given. It cannot be the name of a worktree.
const defaultName = "/"

// WithoutValue is the name that stands for none.
func (f *worktreeFlag) WithoutValue() string { return defaultName }

// SetText takes the name of the worktree.
func (f *worktreeFlag) SetText(name string) error {
	f.set = true
	if name == defaultName {
		return nil
	}
	f.name = name
	return worktree.CheckName(name)
}

// JoinWorktree makes one word of --worktree and a word after it that can be its name.
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

// workspaceOpened says that the run happens in a worktree.
func (c *Cmd) workspaceOpened(p *command.Program) func(path, branch string) {
	return func(path, branch string) {
		if !c.Quiet {
			p.Err.Line("%s", p.Err.Dim("in the worktree "+term.Escape(path)+", on the branch "+term.Escape(branch)))
		}
	}
}

// leaveWorktree takes the run's worktree away, or says why it stays.
func (c *Cmd) leaveWorktree(ctx context.Context, p *command.Program, a *compose.Agent, out outcome.Outcome) {
	left := a.LeaveWorktree(ctx, out != outcome.OK)
	if left.Text == "" || c.Quiet {
		return
	}
	p.Warn("%s", term.Escape(left.Text))
	p.Err.Line("%s go on there: holdfast run %s--worktree=%s PROMPT; take it away: %s", p.Err.Bold("hint:"), c.resumeFlags(), left.Worktree, left.Remove)
}
