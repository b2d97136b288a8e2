// Package instructions is `holdfast context` and `holdfast skills`: list what agents are told
// in a folder.
package instructions

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// ContextCommand makes `holdfast context`.
func ContextCommand(p *command.Program) *command.Command {
	return p.Command(&contextCmd{}, "context", "List the instruction files that agents are given here.")
}

// SkillsCommand makes `holdfast skills`.
func SkillsCommand(p *command.Program) *command.Command {
	return p.Group("skills", "List skills and commands.",
		p.Command(&skillsListCmd{}, "list", "List skills and commands, and what is wrong with those that are not offered.", "ls"),
	)
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

func (c *contextCmd) Help() string {
	return `AGENTS.md, CLAUDE.md and their kin, from the general to the particular: of the administrator,
of yours, and of the folders from the repository's down to the current one, with what they
include. What is left out is told with the reason.`
}

type skillsListCmd struct {
	CWD string
	command.JSONFlag
}

func (c *skillsListCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Of a session in this folder; default the current one.")
	b.Include(&c.JSONFlag)
}
