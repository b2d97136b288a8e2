package sessions

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// compactCmd is `holdfast sessions compact`.
type compactCmd struct {
	flags.SessionArg
	Instructions string
	Model        string
	BaseURL      string
	Settings     []string
	NoHooks      bool
	Takeover     bool
	command.StoreFlags
	command.JSONFlag
}

func (c *compactCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Instructions, "instructions", "i", "TEXT", "What the summary is to keep, or to leave out.")
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "Who summarises; default $HOLDFAST_MODEL.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's address.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings; their compact block says by which steps.")
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Refused where the administrator's settings have some.")
	b.Flag(&c.Takeover, "takeover", "", "", "Take the session from a process that holds it.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
