// Package settings is `holdfast settings`: show the settings in force, and take over those of
// other programs.
package settings

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast settings`.
func Command(p *command.Program) *command.Command {
	return p.Group("settings", "Show the settings in force, and import those of other agents.",
		p.Command(&showCmd{}, "show", "Show each setting in force with the file and line that says it."),
		p.Command(&importCmd{}, "import", "Write the settings of another agent into your own."),
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
	return `Besides your own settings and the project's, those of Claude Code and Codex count: what they
deny or ask about always does, the rest of a project's when the folder is trusted. Settings
that have no effect here are listed with the reason.`
}

// schemaCmd is `holdfast settings schema`.
type schemaCmd struct{}

func (c *schemaCmd) Declare(*command.Builder) {}

func (c *schemaCmd) Help() string {
	return `An editor that knows the schema completes keys and shows what they are for. A file names it
by "$schema", as the one that holdfast init writes does; for an editor without a network:

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
	b.Flag(&c.From, "from", "", "NAME", "claude, codex, opencode or gemini; may be repeated. Default all that have settings.")
	b.Flag(&c.User, "user", "", "", "Your own settings, into settings.json of HOLDFAST_HOME. This is the default.")
	b.Flag(&c.Project, "project", "", "", "The project's settings, into .holdfast/settings.json, for all who work on it.")
	b.Flag(&c.Local, "local", "", "", "The project's settings and your own for it, into .holdfast/settings.local.json, for you alone.")
	b.Flag(&c.DryRun, "dry-run", "", "", "Show what would be written, and write nothing.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder of the project; default the current one.")
	b.Include(&c.JSONFlag)
}

func (c *importCmd) Help() string {
	return `What your settings say stays: lists get longer, and a single value is written where there is
none. Each setting without an equal is listed with the reason. The files of the other agent
are not changed.

  holdfast settings import --dry-run
  holdfast settings import --from codex
  holdfast settings import --from claude --local`
}
