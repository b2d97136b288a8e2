package acp

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Driver is an agent that speaks the Agent Client Protocol.
type Driver struct {
	Start []string // the command that starts it; it must have one
}

// Name is "acp".
func (Driver) Name() string { return "acp" }

// Command starts the agent. All that a turn says goes over its wire.
func (d Driver) Command(vendor.Turn) vendor.Command {
	return vendor.Command{Args: slices.Clone(d.Start)}
}

// Transcript is "": where an agent keeps its sessions, and whether it does, it says only
// when it is asked to resume one.
func (Driver) Transcript(string, string) string { return "" }

// Run leads the process through one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	r := newRun(ctx, t, p, s)
	defer r.close()
	return r.serve()
}
