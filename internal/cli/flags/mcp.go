package flags

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// MCPConfigFlags name servers on the command line.
type MCPConfigFlags struct {
	MCPConfig       []string
	StrictMCPConfig bool
}

func (c *MCPConfigFlags) Declare(b *command.Builder) {
	b.Heading = "MCP servers"
	b.Flag(&c.MCPConfig, "mcp-config", "", "FILE|JSON", "More MCP servers, in the form of .mcp.json; may be repeated.")
	b.Flag(&c.StrictMCPConfig, "strict-mcp-config", "", "", "No other servers than those of --mcp-config; alone: none.")
}

// Into adds the servers to what is loaded.
func (f *MCPConfigFlags) Into(p *command.Program, o *settings.Options) error {
	files, err := SettingsFiles(p, f.MCPConfig)
	o.MCP, o.StrictMCP = files, f.StrictMCPConfig
	return err
}
