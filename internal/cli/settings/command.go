// Package settings is `holdfast settings`: show the settings in force, and import those of other
// programs.
package settings

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast settings`.
func Command(p *command.Program) *command.Command {
	return p.Group("settings", "Show the settings in force, and import those of other agents.",
		p.Command(&showCmd{}, "show", "Show each setting in force with its file and line."),
		p.Command(&importCmd{}, "import", "Import settings of another agent."),
		p.Command(&schemaCmd{}, "schema", "Print the JSON Schema of settings files, for editors."),
	)
}

// showCmd is `holdfast settings show`.
type showCmd struct {
	flags.SettingsFlags
	command.JSONFlag
}

func (c *showCmd) Declare(b *command.Builder) {
	b.Include(&c.SettingsFlags)
	b.Include(&c.JSONFlag)
}

func (c *showCmd) Help() string {
	return `Claude Code's and Codex's settings also apply: their deny and ask rules always, a project's other
settings only if the folder is trusted. Settings without an effect here are listed with the reason.`
}

// schemaCmd is `holdfast settings schema`.
type schemaCmd struct{}

func (c *schemaCmd) Declare(*command.Builder) {}

func (c *schemaCmd) Help() string {
	return `An editor that knows the schema completes keys and shows descriptions. A settings file names the
schema in "$schema", as holdfast init writes it. For an editor without a network:

  holdfast settings schema > ~/settings.schema.json`
}

// importCmd is `holdfast settings import`.
type importCmd struct {
	From    []string
	User    bool
	Project bool
	Local   bool
	DryRun  bool
	CWD     string
	command.JSONFlag
}

func (c *importCmd) Declare(b *command.Builder) {
	b.Flag(&c.From, "from", "", "NAME", "The agent: claude, codex, opencode or gemini. Repeatable. Default: all that have settings.")
	b.Flag(&c.User, "user", "", "", "Import your own settings into settings.json in HOLDFAST_HOME. The default.")
	b.Flag(&c.Project, "project", "", "", "Import the project's settings into .holdfast/settings.json, shared by everyone who works on it.")
	b.Flag(&c.Local, "local", "", "", "Import the project's settings and your own for it into .holdfast/settings.local.json, only for you.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Only show what would be written.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project's folder. Default: the current folder.")
	b.Include(&c.JSONFlag)
}

func (c *importCmd) Help() string {
	return `Existing settings are kept: lists are extended, and single values are added only if missing.
Settings without an equivalent are listed with the reason. The other agent's files do not change.

  holdfast settings import --dry-run
  holdfast settings import --from codex
  holdfast settings import --from claude --local`
}
