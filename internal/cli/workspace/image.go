package workspace

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
)

func (c *imageBuildCmd) Run(ctx context.Context, p *command.Program) error {
	s := image.Spec{
		Variant: c.Variant, Agents: c.Agents, Base: c.Base, Tag: c.Tag, Binary: c.Binary, Certificates: c.Certificates,
		Suite: c.Suite, Mirror: c.Mirror, NoCache: c.NoCache,
	}
	for _, file := range []*string{&s.Binary, &s.Certificates} {
		if *file == "" {
			continue
		}
		var err error
		if *file, err = p.Path(*file); err != nil {
			return err
		}
	}
	return command.WithWorkspaces(p, func(w *workspace.Workspaces) error {
		began := p.Clock()
		id, err := w.BuildImage(ctx, s, c.progressOf(p))
		p.Err.Progress().Show("")
		if err != nil {
			return err
		}
		img, err := w.Image(ctx, id)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(img, p.Out.TTY)
		}
		p.Err.Line("%s, %s, in %s", term.Escape(strings.Join(img.Tags, ", ")), term.Size(img.Size), term.Elapsed(p.Clock().Sub(began)))
		p.Out.Line("%s", term.Escape(id))
		return nil
	})
}

// progressOf returns a function that shows the progress of a build. On a terminal it updates the
// progress line; otherwise it prints one line per step.
func (c *imageBuildCmd) progressOf(p *command.Program) func(image.Progress) {
	line := p.Err.Progress()
	return func(g image.Progress) {
		switch {
		case c.JSON || g.Stage == image.Done:
		case line != nil:
			line.Show(term.Truncate(term.Escape(g.String()), 70))
		case g.Stage != image.Send:
			p.Err.Line("%s", term.Escape(term.OneLine(g.String())))
		}
	}
}

func (c *imageListCmd) Run(ctx context.Context, p *command.Program) error {
	return command.WithWorkspaces(p, func(w *workspace.Workspaces) error {
		list, err := w.Images(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(struct {
				Images []image.Image `json:"images"`
			}{append([]image.Image{}, list...)}, p.Out.TTY)
		}
		if len(list) == 0 {
			p.Err.Line("no images")
			p.Err.Line("%s holdfast workspace image build", p.Err.Bold("hint:"))
			return nil
		}
		rows := [][]string{{"IMAGE", "VARIANT", "WITH", "VERSION", "SIZE", "ID"}}
		for _, i := range list {
			rows = append(rows, []string{
				strings.Join(i.Tags, " "), i.Variant, cmp.Or(strings.Join(i.Agents, " "), "-"), i.Version, term.Size(i.Size),
				fmt.Sprintf("%.19s", i.ID),
			})
		}
		p.Out.Table(rows, 0)
		return nil
	})
}
