package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
)

// worktreeFlag is --worktree, whose name may be left out: what follows is taken for it when
// it could be one, and is not, when it stands behind "--worktree=" or could not.
type worktreeFlag struct {
	wanted bool
	name   string // "": one of the session's own
}

// Decode implements kong.MapperValue.
func (f *worktreeFlag) Decode(ctx *kong.DecodeContext) error {
	f.wanted = true
	t := ctx.Scan.Peek()
	text, _ := t.Value.(string)
	if t.Type == kong.FlagValueToken || !t.IsEOL() && worktree.CheckName(text) == nil {
		ctx.Scan.Pop()
		f.name = text
		return worktree.CheckName(text)
	}
	return nil
}

// IsBool says to kong that there need be no value.
func (worktreeFlag) IsBool() bool { return true }

// entered says that the run happens in a worktree.
func (c *runCmd) entered(p *Program) func(path, branch string) {
	return func(path, branch string) {
		if !c.Quiet {
			p.err.Line("%s", p.err.Dim("in the worktree "+term.Escape(path)+", on the branch "+term.Escape(branch)))
		}
	}
}

// leave takes the run's worktree away, or says why it stays.
func (c *runCmd) leave(ctx context.Context, p *Program, a *compose.Agent, out outcome.Outcome) {
	left := a.LeaveWorktree(ctx, out != outcome.OK)
	if left.Text == "" || c.Quiet {
		return
	}
	p.warn("%s", term.Escape(left.Text))
	p.err.Line("%s go on there: holdfast run %s--worktree=%s PROMPT; take it away: %s", p.err.Bold("hint:"), c.again(), left.Worktree, left.Remove)
}
