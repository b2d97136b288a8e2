package cli

import (
	"context"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
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

// apart has the run happen in a worktree. What it returns is called when it is over, before
// the agent is closed.
func (c *runCmd) apart(p *Program, b *tools.Toolbox, o *agent.Options) (leave func(context.Context, outcome.Outcome), err error) {
	leave = func(context.Context, outcome.Outcome) {}
	if !c.Worktree.wanted {
		return leave, nil
	}
	if err := b.CheckApart(); err != nil {
		return leave, err
	}
	enter := b.Apart(c.Worktree.name, "run")
	o.Enter = func(ctx context.Context) (dir, told string, err error) {
		dir, told, err = enter(ctx)
		if err == nil && !c.Quiet {
			p.err.line("%s", p.err.term.dim("in the worktree "+shown(b.Checkout().Path)+", on the branch "+shown(b.Checkout().Branch)))
		}
		return dir, told, err
	}
	return func(ctx context.Context, out outcome.Outcome) {
		at := b.Checkout()
		text := b.LeaveApart(context.WithoutCancel(ctx), out != outcome.OK)
		if text == "" || c.Quiet {
			return
		}
		p.warn("%s", shown(text))
		name := filepath.Base(at.Path)
		p.err.line("%s go on there: holdfast run %s--worktree=%s PROMPT; take it away: git worktree remove %s", p.err.term.bold("hint:"), c.again(), name, filepath.Join(worktree.Place, name))
	}, nil
}
