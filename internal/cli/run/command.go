// Package run is `holdfast run`: flags become a runspec.Spec, and the run is composed here or
// started in the daemon.
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
	return p.Command(&Cmd{}, "run", "Give an agent a prompt and run it until it is done.")
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
}

func (c *Cmd) Declare(b *command.Builder) {
	b.Optional(&c.Prompt, "prompt", "What to do; - or nothing reads standard input, which is also added to a prompt when it is not a terminal.")
	b.Include(&c.AgentFlags)
	b.Heading = "Session"
	b.Flag(&c.Continue, "continue", "c", "", "Go on with the newest session of this project.")
	b.Flag(&c.Resume, "resume", "r", "ID|NAME", "Go on with this session.")
	b.Flag(&c.SessionID, "session-id", "", "ID", "Use this session; it is created when there is none.")
	b.Flag(&c.ForkSession, "fork-session", "", "", "Go on in a fork; the session stays as it is.")
	b.Flag(&c.WithGrants, "with-grants", "", "", "With --fork-session: begin with what was decided in the session.")
	b.Flag(&c.At, "at", "", "ITEM", "Go back to this item first.")
	b.Flag(&c.Name, "name", "", "TITLE", "Give the session a title.")
	b.Flag(&c.Takeover, "takeover", "", "", "Take the session from a process that holds it.")
	b.Flag(&c.NoPersist, "no-session-persistence", "", "", "Write nothing to the session.")
	b.Flag(&c.NoDaemon, "no-daemon", "", "", "Run here, also when a daemon serves this home; or HOLDFAST_NO_DAEMON=1.")
	b.Include(&c.StoreFlags)
	b.Heading = "Folders"
	b.Flag(&c.Worktree, "worktree", "", "NAME", "Work in a git worktree, on a branch of its own: --worktree=NAME, or one for this session. It is removed on exit if nothing would be lost.")
	b.Heading = ""
	b.Include(&c.WorkspaceFlags)
	c.OutputFormat = "text"
	b.Heading = "Output"
	b.Flag(&c.OutputFormat, "output-format", "", "FORMAT", "text, json or stream-json.", "text", "json", "stream-json")
	b.Flag(&c.IncludePartialMessages, "include-partial-messages", "", "", "With stream-json: stream_event lines while the model writes.")
	b.Flag(&c.Quiet, "quiet", "q", "", "Print the answer and errors only.")
	b.Flag(&c.Verbose, "verbose", "v", "", "Print thinking and what tools returned, too.")
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
	b.Flag(&c.Agent, "agent", "", "KIND", "With --workspace: another agent than its settings name.", "holdfast", "claude", "codex", "acp")
	b.Flag(&c.Ephemeral, "ephemeral", "", "", "With --workspace: in a container for this run alone, whose home is thrown away; the session stays.")
}
