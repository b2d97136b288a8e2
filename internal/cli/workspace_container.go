package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// workspaceStartCmd is `holdfast workspace start`.
type workspaceStartCmd struct {
	slugArg
	jsonFlag
}

func (c *workspaceStartCmd) declare(b *builder) {
	b.include(&c.slugArg)
	b.include(&c.jsonFlag)
}

func (c *workspaceStartCmd) run(ctx context.Context, p *Program) error {
	return c.with(p, func(w *workspace.Workspaces) error {
		p.err.Progress().Show("starting " + term.Escape(c.Slug))
		began := p.Now()
		made, err := w.Ensure(ctx, c.Slug)
		p.err.Progress().Show("")
		if err != nil {
			return err
		}
		more := ""
		if made.Outdated != "" {
			more = "; it is to be made anew when nobody works in it: " + made.Outdated
		}
		if err := made.Close(); err != nil {
			return err
		}
		return p.tellSpace(ctx, w, c.Slug, c.JSON, "workspace %s runs in %s (%s)%s", c.Slug, made.Name, term.Elapsed(p.Now().Sub(began)), more)
	})
}

// workspaceStopCmd is `holdfast workspace stop`.
type workspaceStopCmd struct {
	Slug string
	All  bool
	jsonFlag
}

func (c *workspaceStopCmd) declare(b *builder) {
	b.optional(&c.Slug, "slug", "The workspace's name.")
	b.flag(&c.All, "all", "a", "", "The containers of all workspaces.")
	b.include(&c.jsonFlag)
}

// Help says more than one line.
func (c *workspaceStopCmd) Help() string {
	return `What runs in the container ends, also an agent in the middle of a turn; what it has said is saved.
The container is kept, and started again when it is needed.`
}

func (c *workspaceStopCmd) run(ctx context.Context, p *Program) error {
	if c.All == (c.Slug != "") {
		return usage("name one workspace, or say --all", "holdfast workspace list")
	}
	if c.All {
		return p.withSpaces(func(w *workspace.Workspaces) error {
			if err := w.StopAll(ctx); err != nil {
				return err
			}
			if c.JSON {
				return p.out.JSON(map[string]any{"stopped": "all"}, p.out.TTY)
			}
			p.err.Line("all containers of workspaces are stopped")
			return nil
		})
	}
	return slugArg{c.Slug}.with(p, func(w *workspace.Workspaces) error {
		if _, err := w.Get(ctx, c.Slug); err != nil {
			return err
		}
		p.err.Progress().Show("stopping " + term.Escape(c.Slug))
		err := w.Stop(ctx, c.Slug)
		p.err.Progress().Show("")
		if err != nil {
			return err
		}
		return p.tellSpace(ctx, w, c.Slug, c.JSON, "the container of workspace %s is stopped", c.Slug)
	})
}
