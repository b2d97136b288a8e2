package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
)

func newWorkspaceImageCmd(p *Program) *cobra.Command {
	return p.group("image", "Build and list the images that containers are made of.",
		p.command(&imageBuildCmd{}, "build", "Build an image; nothing is pulled."),
		p.command(&imageListCmd{}, "list", "List the images that were built.", "ls"),
	)
}

// imageBuildCmd is `holdfast workspace image build`.
type imageBuildCmd struct {
	Variant      string
	With         []string
	Base         string
	Tag          string
	Binary       string
	Certificates string
	Suite        string
	Mirror       string
	Fresh        bool
	jsonFlag
}

func (c *imageBuildCmd) declare(b *builder) {
	c.Variant = "scratch"
	b.flag(&c.Variant, "variant", "", "NAME", "scratch: this program alone, without a shell; or debian. Default scratch.", "scratch", "debian")
	b.words(&c.With, "with", "", "AGENT", "For debian: claude, codex, each with @VERSION or in the version that was tested; npm gets them.")
	b.flag(&c.Base, "base", "", "IMAGE", "For debian: an image that the engine has; default what debootstrap makes, which needs root.")
	b.flag(&c.Tag, "tag", "", "NAME", "The image's name; default holdfast/workspace:VARIANT, and the image of workspaces that name none.")
	b.flag(&c.Binary, "binary", "", "FILE", "A static holdfast for Linux; default this program.")
	b.flag(&c.Certificates, "certificates", "", "FILE", "Certificate authorities to trust inside, as PEM.")
	b.flag(&c.Suite, "suite", "", "NAME", "Debian's, for debootstrap; default bookworm.")
	b.flag(&c.Mirror, "mirror", "", "URL", "Where debootstrap gets packages; default what apt uses.")
	b.flag(&c.Fresh, "fresh", "", "", "Build anew what is there.")
	b.include(&c.jsonFlag)
}

// Help says more than one line.
func (c *imageBuildCmd) Help() string {
	return `An image that was built of the same input is taken as it is.

  holdfast workspace image build                                 this program, no shell: 2 s
  holdfast workspace image build --variant debian --with claude  a Debian with Claude Code
  holdfast workspace image build --variant debian --base debian:12`
}

func (c *imageBuildCmd) run(ctx context.Context, p *Program) error {
	s := image.Spec{
		Variant: c.Variant, With: c.With, Base: c.Base, Tag: c.Tag, Binary: c.Binary, Certificates: c.Certificates,
		Suite: c.Suite, Mirror: c.Mirror, Fresh: c.Fresh,
	}
	for _, file := range []*string{&s.Binary, &s.Certificates} {
		if *file == "" || filepath.IsAbs(*file) {
			continue
		}
		wd, err := p.Getwd()
		if err != nil {
			return err
		}
		*file = filepath.Join(wd, *file)
	}
	return p.withSpaces(func(w *workspace.Workspaces) error {
		began := p.Now()
		id, err := w.BuildImage(ctx, s, c.teller(p))
		p.err.Progress().Show("")
		if err != nil {
			return err
		}
		img, err := w.Image(ctx, id)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.out.JSON(img, p.out.TTY)
		}
		p.err.Line("%s, %s, in %s", term.Escape(strings.Join(img.Tags, ", ")), term.Size(img.Size), term.Elapsed(p.Now().Sub(began)))
		p.out.Line("%s", term.Escape(id))
		return nil
	})
}

// teller shows what a build does: on one line of a terminal that comes and goes, and
// line by line where there is none.
func (c *imageBuildCmd) teller(p *Program) func(image.Progress) {
	line := p.err.Progress()
	return func(g image.Progress) {
		switch {
		case c.JSON || g.Stage == image.Done:
		case line != nil:
			line.Show(term.Fit(term.Escape(g.String()), 70))
		case g.Stage != image.Send:
			p.err.Line("%s", term.Escape(term.OneLine(g.String())))
		}
	}
}

// imageListCmd is `holdfast workspace image list`.
type imageListCmd struct{ jsonFlag }

func (c *imageListCmd) declare(b *builder) {
	b.include(&c.jsonFlag)
}

func (c *imageListCmd) run(ctx context.Context, p *Program) error {
	return p.withSpaces(func(w *workspace.Workspaces) error {
		list, err := w.Images(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.out.JSON(struct {
				Images []image.Image `json:"images"`
			}{append([]image.Image{}, list...)}, p.out.TTY)
		}
		if len(list) == 0 {
			p.err.Line("no images")
			p.err.Line("%s holdfast workspace image build", p.err.Bold("hint:"))
			return nil
		}
		rows := [][]string{{"IMAGE", "VARIANT", "WITH", "VERSION", "SIZE", "ID"}}
		for _, i := range list {
			rows = append(rows, []string{
				strings.Join(i.Tags, " "), i.Variant, cmp.Or(strings.Join(i.With, " "), "-"), i.Version, term.Size(i.Size),
				fmt.Sprintf("%.19s", i.ID),
			})
		}
		p.out.Table(rows, 0)
		return nil
	})
}
