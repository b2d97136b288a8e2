package run

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
)

// approveServers asks at the terminal about MCP servers that are neither approved nor rejected,
// before the run. A server without an answer is asked about again in the next run. Without a
// terminal such servers are not started, and [command.Program.SettingsNotices] reports them.
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
	return question.ApproveServers(ctx, p, a, s, slices.Concat(s.MCPServers, set.Servers), question.FetchAtOnce(p, s))
}
