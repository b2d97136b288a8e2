package run

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
)

func (c *Cmd) view(p *command.Program) view.View {
	switch c.OutputFormat {
	case "json", "stream-json":
		return &view.Stream{Program: p, All: c.OutputFormat == "stream-json", Partial: c.IncludePartialMessages, Began: p.Now()}
	}
	return &view.Text{Program: p, Quiet: c.Quiet, Verbose: c.Verbose}
}
