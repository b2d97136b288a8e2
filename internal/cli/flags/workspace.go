package flags

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// checkWorkspaceFlags rejects flags that cannot be used with a workspace. Without a workspace it rejects
// flags that need one.
func (c *RunFlags) checkWorkspaceFlags() error {
	if c.Workspace == "" {
		switch {
		case c.Agent != "":
			return outcome.Invalid("--agent needs --workspace", "list the workspaces: holdfast workspace list")
		case c.Ephemeral:
			return outcome.Invalid("--ephemeral needs --workspace", "list the workspaces: holdfast workspace list")
		}
		return nil
	}
	for _, f := range []struct {
		given      bool
		name, hint string
	}{
		{c.CWD != "", "--cwd", "the agent works in the workspace's project; change it with holdfast workspace set --project"},
		{len(c.AddDir) > 0, "--add-dir", "mount the folder with holdfast workspace set --mount"},
		{c.Worktree.Set, "--worktree", "the agent can create a worktree itself if the container has git"},
		{c.NoSandbox, "--no-sandbox", "the container is the sandbox; to run without it, omit --workspace"},
		{c.NoPersist, "--no-session-persistence", "workspace sessions are always recorded; use --ephemeral to discard the home folder"},
		{c.Init, "--init", ""},
		{c.Maintenance, "--maintenance", ""},
	} {
		if f.given {
			return outcome.Invalid(f.name+" cannot be used with --workspace", f.hint)
		}
	}
	return nil
}

// checkAgentKind rejects flags that have no effect on a vendor agent.
func (c *RunFlags) checkAgentKind(in *compose.Workspace) error {
	if in.IsBuiltin() {
		return nil
	}
	for _, f := range []struct {
		given bool
		name  string
	}{
		{c.FallbackModel != "", "--fallback-model"},
		{c.BaseURL != "", "--base-url"},
		{c.MaxTokens != 0, "--max-tokens"},
		{c.Effort != "", "--effort"},
		{c.NoCompact, "--no-compact"},
		{c.CompactItems != 0, "--compact-items"},
		{c.SystemPrompt != "", "--system-prompt"},
		{c.SystemPromptFile != "", "--system-prompt-file"},
	} {
		if f.given {
			return outcome.Invalid(fmt.Sprintf("%s has no effect with agent %s", f.name, in.Kind), "omit it, or use --agent holdfast")
		}
	}
	return nil
}

// OpenWorkspace opens the workspace of the run; it returns nil if the run has none. The caller
// closes it.
func (c *RunFlags) OpenWorkspace(ctx context.Context, p *command.Program) (*compose.Workspace, error) {
	if err := c.checkWorkspaceFlags(); err != nil || c.Workspace == "" {
		return nil, err
	}
	in, err := command.OpenWorkspace(ctx, p, c.Workspace, c.Agent)
	if err != nil {
		return nil, err
	}
	if err := c.checkAgentKind(in); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}
