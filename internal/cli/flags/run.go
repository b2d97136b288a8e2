package flags

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// RunFlags describe a run and choose its session. They are flags of run and of the conversation.
type RunFlags struct {
	AgentFlags

	Continue    bool
	Resume      string
	SessionID   string
	ForkSession bool
	WithGrants  bool
	At          string
	Name        string
	Takeover    bool
	NoPersist   bool // only run declares it
	NoDaemon    bool
	command.StoreFlags

	Images []string

	Worktree WorktreeFlag

	WorkspaceFlags
}

func (c *RunFlags) Declare(b *command.Builder) {
	b.Include(&c.AgentFlags)
	b.Heading = "Session"
	b.Flag(&c.Continue, "continue", "c", "", "Resume the newest session of this project.")
	b.Flag(&c.Resume, "resume", "r", "ID|NAME", "Resume this session: an id, its first or last characters, or a title.")
	b.Flag(&c.SessionID, "session-id", "", "ID", "Use this session id. The session is created if it does not exist.")
	b.Flag(&c.ForkSession, "fork-session", "", "", "Resume in a fork. The original session does not change.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "With --fork-session: keep the session's grants, mode and policy changes.")
	b.Flag(&c.At, "at", "", "ITEM", "Resume from this item and discard the later ones.")
	b.Flag(&c.Name, "name", "", "TITLE", "Set the session's title.")
	b.Flag(&c.Takeover, "takeover", "", "", "Take over a session that another process has open.")
	b.Flag(&c.NoDaemon, "no-daemon", "", "", "Run in this process even if a daemon is running. Same as HOLDFAST_NO_DAEMON=1.")
	b.Include(&c.StoreFlags)
	b.Heading = ""
	b.Flag(&c.Images, "image", "i", "FILE", "Send this image with the prompt: PNG, JPEG, GIF or WebP, at most 3.75 MiB. Repeatable.")
	b.Heading = "Folders"
	b.Flag(&c.Worktree, "worktree", "", "NAME", "Work in a git worktree on its own branch: --worktree=NAME, or one for this session. It is removed on exit if nothing would be lost.")
	b.Heading = ""
	b.Include(&c.WorkspaceFlags)
}

// WorkspaceFlags are the flags of a run in a workspace.
type WorkspaceFlags struct {
	Workspace string
	Agent     string
	Ephemeral bool
}

func (c *WorkspaceFlags) Declare(b *command.Builder) {
	b.Heading = "Workspace"
	b.Flag(&c.Workspace, "workspace", "w", "SLUG", "Work in the container of this workspace.")
	b.Flag(&c.Agent, "agent", "", "KIND", "With --workspace: use this agent instead of the one in the workspace's settings.", "holdfast", "claude", "codex", "acp")
	b.Flag(&c.Ephemeral, "ephemeral", "", "", "With --workspace: use a temporary container and home for this run. The session is kept.")
}
