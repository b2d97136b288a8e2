package settings

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func (c *schemaCmd) Run(_ context.Context, p *command.Program) error {
	_, err := p.Stdout.Write(settings.Schema())
	return err
}
