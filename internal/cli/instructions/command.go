// Package instructions is `holdfast context` and `holdfast skills`: list the instruction files and
// skills of a folder.
package instructions

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// ContextCommand returns `holdfast context`.
func ContextCommand(p *command.Program) *command.Command {
	return p.Command(&contextCmd{}, "context", "List the instruction files that an agent in this folder reads.")
}

// SkillsCommand returns `holdfast skills`.
func SkillsCommand(p *command.Program) *command.Command {
	return p.Group("skills", "List skills and commands.",
		p.Command(&skillsListCmd{}, "list", "List skills and commands, and why some are not available.", "ls"),
	)
}

// contextCmd is `holdfast context`.
func PluginsCommand(p *command.Program) *command.Command {
	return p.Command(&pluginsCmd{}, "plugins", "List the plugins of this folder, and what is in them.")
}

type contextCmd struct {
	CWD            string
	NoContextFiles bool
	Text           bool
	command.JSONFlag
}

func (c *contextCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The session's folder. Default: the current folder.")
	b.Flag(&c.NoContextFiles, "no-context-files", "", "", "Read only the administrator's files, as holdfast run does with this flag.")
	b.Flag(&c.Text, "text", "", "", "Print the exact text that the model gets.")
	b.Include(&c.JSONFlag)
}

func (c *contextCmd) Help() string {
	return `Lists AGENTS.md, CLAUDE.md and similar files in reading order: the administrator's, yours, then
each folder from the repository root down to the current one, with included files. Files that are
not read are listed with the reason.`
}

type skillsListCmd struct {
	CWD string
	command.JSONFlag
}

func (c *skillsListCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The session's folder. Default: the current folder.")
	b.Include(&c.JSONFlag)
}

type pluginsCmd struct {
	CWD       string
	PluginDir []string
	command.JSONFlag
}

func (c *pluginsCmd) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The session's folder. Default: the current folder.")
	b.Flag(&c.PluginDir, "plugin-dir", "", "FOLDER", "A plugin's folder, as for holdfast run. Repeatable.")
	b.Include(&c.JSONFlag)
}

func (c *pluginsCmd) Help() string {
	return `Lists the plugins that --plugin-dir or "plugins" in the settings names, with their commands, skills,
sub-agents, hooks and MCP servers, and with their parts that Holdfast does not use. Holdfast does
not download plugins.`
}
