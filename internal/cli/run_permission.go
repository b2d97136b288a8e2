package cli

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// settings reads what applies in a run, flags included.
func (c *agentFlags) settings(p *command.Program, cwd string) (*settings.Settings, error) {
	r, err := c.composed(p, cwd)
	if err != nil {
		return nil, err
	}
	return compose.Settings(r)
}
