package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// contextCmd is `holdfast context`.
type contextCmd struct {
	CWD            string
	NoContextFiles bool
	Text           bool
	jsonFlag
}

func (c *contextCmd) declare(b *builder) {
	b.flag(&c.CWD, "cwd", "", "FOLDER", "Of a session in this folder; default the current one.")
	b.flag(&c.NoContextFiles, "no-context-files", "", "", "As run has it: only what the administrator wants read.")
	b.flag(&c.Text, "text", "", "", "Print what the model would be told, as it is.")
	b.include(&c.jsonFlag)
}

// Help says more than one line.
func (c *contextCmd) Help() string {
	return `AGENTS.md, CLAUDE.md and their kin, from the general to the particular: of the administrator,
of yours, and of the folders from the repository's down to the current one, with what they
include. What is left out is told with the reason.`
}

type contextDoc struct {
	Files   []instructions.File `json:"files"`
	Notices []string            `json:"notices"`
	Size    int                 `json:"size"`
}

func (c *contextCmd) run(_ context.Context, p *Program) error {
	cwd, err := p.folder(c.CWD)
	if err != nil {
		return err
	}
	s, err := p.loadSettings(cwd, nil)
	if err != nil {
		return err
	}
	perms, err := s.Policy()
	if err != nil {
		return err
	}
	folders, err := tools.WorkFolders(cwd, s)
	if err != nil {
		return err
	}
	set, err := tools.InstructionsOf(p.environment(), s, cwd, folders, c.NoContextFiles, &perms)
	if err != nil {
		return err
	}
	defer set.Close()
	text := set.Text()
	d := contextDoc{Files: append([]instructions.File{}, set.Files()...), Notices: append([]string{}, set.Notices()...), Size: len(text)}
	switch {
	case c.JSON:
		return p.out.JSON(d, p.out.TTY)
	case c.Text:
		p.out.Text(text)
	default:
		p.showInstructions(p.out, d.Files)
		if len(d.Files) == 0 {
			p.err.Line("there are no instruction files")
		}
	}
	for _, n := range d.Notices {
		p.warn("%s", n)
	}
	return nil
}

// showInstructions lists files with their sizes.
func (p *Program) showInstructions(to *term.Printer, files []instructions.File) {
	for _, f := range files {
		more := string(f.Memory)
		if f.Parent != "" {
			more += ", included by " + f.Parent
		}
		if f.Cut {
			more += ", cut"
		}
		to.Line("%7d  %s  %s", f.Size, term.Escape(f.Path), to.Dim(term.Escape(more)))
	}
}
