// Package run is `holdfast run`. It makes a runspec.Spec from the flags, and runs the spec in this
// process or in the daemon.
//
//	flags ─► Cmd.Spec ─┬─► runtime ─► agent ─► events ─┬─► drive ─► view.View
//	                   └─► daemon/client.Run ► events ─┘
package run

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast run`.
func Command(p *command.Program) *command.Command {
	return p.Command(&Cmd{}, "run", "Run an agent on a prompt until it is done.")
}

// Cmd is `holdfast run`.
type Cmd struct {
	Prompt string

	flags.AgentFlags

	Continue    bool
	Resume      string
	SessionID   string
	ForkSession bool
	WithGrants  bool
	At          string
	Name        string
	Takeover    bool
	NoPersist   bool
	NoDaemon    bool
	command.StoreFlags

	Worktree worktreeFlag

	WorkspaceFlags

	OutputFormat           string
	IncludePartialMessages bool
	Quiet                  bool
	Verbose                bool

	typed *typed // nil unless the user can type while the run works
}

func (c *Cmd) Declare(b *command.Builder) {
	b.Optional(&c.Prompt, "prompt", "The prompt. With - or without a prompt, standard input is read. Piped input is appended to the prompt.")
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
	b.Flag(&c.NoPersist, "no-session-persistence", "", "", "Do not record the session.")
	b.Flag(&c.NoDaemon, "no-daemon", "", "", "Run in this process even if a daemon is running. Same as HOLDFAST_NO_DAEMON=1.")
	b.Include(&c.StoreFlags)
	b.Heading = "Folders"
	b.Flag(&c.Worktree, "worktree", "", "NAME", "Work in a git worktree on its own branch: --worktree=NAME, or one for this session. It is removed on exit if nothing would be lost.")
	b.Heading = ""
	b.Include(&c.WorkspaceFlags)
	c.OutputFormat = "text"
	b.Heading = "Output"
	b.Flag(&c.OutputFormat, "output-format", "", "FORMAT", "Output format: text, json or stream-json.", "text", "json", "stream-json")
	b.Flag(&c.IncludePartialMessages, "include-partial-messages", "", "", "With stream-json: print stream_event lines while the model writes.")
	b.Flag(&c.Quiet, "quiet", "q", "", "Print only the answer and errors.")
	b.Flag(&c.Verbose, "verbose", "v", "", "Also print thinking and full tool output.")
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
