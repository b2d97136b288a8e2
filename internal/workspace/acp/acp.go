package acp

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Driver drives an agent that speaks the Agent Client Protocol.
type Driver struct {
	Start []string // the command that starts the agent; required
}

// Name implements [vendor.Driver].
func (Driver) Name() string { return "acp" }

// Command returns the command that starts the agent. The turn itself is sent over the connection.
func (d Driver) Command(vendor.Turn) vendor.Command {
	return vendor.Command{Args: slices.Clone(d.Start)}
}

// Transcript returns "", because it is unknown where an agent stores its sessions. Whether it
// stores them at all is known only when one is resumed.
func (Driver) Transcript(string, string) string { return "" }

// Run runs one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	r := newRun(ctx, t, p, s)
	defer r.close()
	return r.serve()
}
