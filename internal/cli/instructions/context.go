package instructions

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/instructions"
)

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
			p.Err.Line("no instruction files")
		}
	}
	for _, n := range d.Notices {
		p.Warn("%s", n)
	}
	return nil
}
