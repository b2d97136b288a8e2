package workspace

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

func (c *startCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withWorkspaces(p, func(w *workspace.Workspaces) error {
		p.Err.Progress().Show("starting " + term.Escape(c.Slug))
		began := p.Clock()
		made, err := w.Ensure(ctx, c.Slug)
		p.Err.Progress().Show("")
		if err != nil {
			return err
		}
		more := ""
		if made.Outdated != "" {
			more = "; it will be recreated when idle: " + made.Outdated
		}
		if err := made.Close(); err != nil {
			return err
		}
		return printWorkspace(ctx, p, w, c.Slug, c.JSON, "workspace %s is running in %s (%s)%s", c.Slug, made.Name, term.Elapsed(p.Clock().Sub(began)), more)
	})
}

func (c *stopCmd) Run(ctx context.Context, p *command.Program) error {
	if c.All == (c.Slug != "") {
		return outcome.Invalid("name one workspace, or use --all", "list the workspaces: holdfast workspace list")
	}
	if c.All {
		return command.WithWorkspaces(p, func(w *workspace.Workspaces) error {
			if err := w.StopAll(ctx); err != nil {
				return err
			}
			if c.JSON {
				return p.Out.JSON(map[string]any{"stopped": "all"}, p.Out.TTY)
			}
			p.Err.Line("stopped the containers of all workspaces")
			return nil
		})
	}
	return slugArg{c.Slug}.withWorkspaces(p, func(w *workspace.Workspaces) error {
		if _, err := w.Get(ctx, c.Slug); err != nil {
			return err
		}
		p.Err.Progress().Show("stopping " + term.Escape(c.Slug))
		err := w.Stop(ctx, c.Slug)
		p.Err.Progress().Show("")
		if err != nil {
			return err
		}
		return printWorkspace(ctx, p, w, c.Slug, c.JSON, "stopped the container of workspace %s", c.Slug)
	})
}
