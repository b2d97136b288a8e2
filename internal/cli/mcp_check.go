package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/settings"
)

// checkedDoc is what came of connecting to a server.
type checkedDoc struct {
	State    string   `json:"state"` // "connected", "failed", "needs-auth"
	Server   string   `json:"server,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	Left     []string `json:"left_out,omitempty"` // and why
	Error    string   `json:"error,omitempty"`
	Hint     string   `json:"hint,omitempty"`
}

func (d *checkedDoc) word() string { return d.State }

func (p *printer) checked(d *checkedDoc) {}

func (p *Program) checkServers(_ context.Context, _ *settings.Settings, _ []serverDoc) error { return nil }

type mcpLoginCmd struct {
	Name string `arg:"" placeholder:"NAME" help:"The server."`
	mcpFlags
}

func (c *mcpLoginCmd) run(ctx context.Context, p *Program) error { return nil }

type mcpLogoutCmd struct {
	Name string `arg:"" placeholder:"NAME" help:"The server."`
	mcpFlags
}

func (c *mcpLogoutCmd) run(ctx context.Context, p *Program) error { return nil }
