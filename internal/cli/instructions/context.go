// Package instructions is `holdfast context` and `holdfast skills`: list what agents are told
// in a folder.
package instructions

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/instructions"
)

// ContextCommand makes `holdfast context`.
func ContextCommand(p *command.Program) *command.Command {
	return p.Command(&contextCmd{}, "context", "List the instruction files that agents are given here.")
}

// contextCmd is `holdfast context`.
type contextCmd struct {
	CWD            string
	NoContextFiles bool
	Text           bool
	command.JSONFlag
}

func (c *contextCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Of a session in this folder; default the current one.")
	b.Flag(&c.NoContextFiles, "no-context-files", "", "", "As run has it: only what the administrator wants read.")
	b.Flag(&c.Text, "text", "", "", "Print what the model would be told, as it is.")
	b.Include(&c.JSONFlag)
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

func (c *contextCmd) Run(_ context.Context, p *command.Program) error {
	cwd, err := p.Folder(c.CWD)
	if err != nil {
		return err
	}
	s, err := p.LoadSettings(cwd, nil)
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
	set, err := tools.InstructionsOf(p.Environment(), s, cwd, folders, c.NoContextFiles, &perms)
	if err != nil {
		return err
	}
	defer set.Close()
	text := set.Text()
	d := contextDoc{Files: append([]instructions.File{}, set.Files()...), Notices: append([]string{}, set.Notices()...), Size: len(text)}
	switch {
	case c.JSON:
		return p.Out.JSON(d, p.Out.TTY)
	case c.Text:
		p.Out.Text(text)
	default:
		view.ShowInstructions(p, p.Out, d.Files)
		if len(d.Files) == 0 {
			p.Err.Line("there are no instruction files")
		}
	}
	for _, n := range d.Notices {
		p.Warn("%s", n)
	}
	return nil
}
