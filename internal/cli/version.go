package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// versionCmd is `holdfast version`.
type versionCmd struct{ command.JSONFlag }

func (c *versionCmd) Declare(b *command.Builder) {
	b.Include(&c.JSONFlag)
}

func (c *versionCmd) Run(_ context.Context, p *command.Program) error {
	if c.JSON {
		return p.Out.JSON(version.Current(), false)
	}
	p.Out.Line("%s", version.Current().String())
	return nil
}
