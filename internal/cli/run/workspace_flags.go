package run

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// WorkspaceFlags are the flags of a run in a workspace.
type WorkspaceFlags struct {
	Workspace string
	Agent     string
	Ephemeral bool
}

func (c *WorkspaceFlags) Declare(b *command.Builder) {
	b.Heading = "Workspace"
	b.Flag(&c.Workspace, "workspace", "w", "SLUG", "Work in the container of this workspace.")
	b.Flag(&c.Agent, "agent", "", "KIND", "With --workspace: another agent than its settings name.", "holdfast", "claude", "codex", "acp")
	b.Flag(&c.Ephemeral, "ephemeral", "", "", "With --workspace: in a container for this run alone, whose home is thrown away; the session stays.")
}
