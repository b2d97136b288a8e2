package run

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
)

// approveServers asks the person at the terminal about the servers that nobody has decided
// about, before the run. Who does not answer is asked again in the next run. Without a
// terminal they are left out, and [command.Program.SettingsNotices] tells.
func (c *Cmd) approveServers(ctx context.Context, p *command.Program, cwd string) error {
	if c.OutputFormat != "text" {
		return nil
	}
	a := question.NewAsker(p)
	if a == nil {
		return nil
	}
	defer a.Close()
	s, err := c.LoadSettings(p, cwd)
	if err != nil {
		return err
	}
	set, err := tools.Definitions(p.Environment(), s, c.Agents)
	if err != nil {
		return err
	}
	return question.ApproveServers(ctx, p, a, s, slices.Concat(s.MCPServers, set.Servers))
}
