package hooks

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// replayCmd is `holdfast hooks replay`.
type replayCmd struct {
	flags.SessionArg
	All       bool
	Yes       bool
	NoSandbox bool
	Settings  []string
	command.StoreFlags
	command.JSONFlag
}

func (c *replayCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.All, "all", "a", "", "Everything, not only that about which hooks said something.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands of hooks without the kernel sandbox.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the session's folder and the user; may be repeated.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *replayCmd) Help() string {
	return `The hooks of the session's folder as they are now are told of every prompt
(UserPromptSubmit) and every tool call (PreToolUse) of its log. No tool and no model is
run, and nothing is done about what hooks answer; but the hooks themselves really run,
in their sandbox, so you are asked first, and where nobody can be asked --yes is needed.`
}
