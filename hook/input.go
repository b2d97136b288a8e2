package hook

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Input is what a hook is told. Fields that an event does not have are zero, and
// are not written to commands.
type Input struct {
	Event          Event
	SessionID      string
	TranscriptPath string // a file in Claude Code's JSONL form, or ""
	CWD            string // the current directory
	Dir            string // where commands start; default CWD. It is not written to commands
	PermissionMode string
	Turn           string // turn_id, as Codex has it
	Agent          string // the sub-agent's name; "" for the main agent (agent_id, agentId)
	AgentType      string

	// Tool events.
	Tool      string
	ToolInput json.RawMessage
	ToolUseID string
	// Settled says that ToolInput is what will run, and that it was changed since the call
	// was first put to the hooks: another input is left out, and an allow of another one does not count.
	// It is not written to commands.
	Settled    bool
	ToolOutput string          // text of the result (seed 000's toolOutput)
	Response   json.RawMessage // the same in Claude Code's form: tool_response
	Error      string          // PostToolUseFailure; StopFailure; PermissionDenied: the same as Reason
	Interrupt  bool            // PostToolUseFailure
	Took       time.Duration
	Calls      []ToolCall // PostToolBatch
	// Suggestions are what a person could choose for the rest of the session:
	// PermissionUpdate values in Claude Code's form.
	Suggestions json.RawMessage

	Prompt       string  // UserPromptSubmit
	Source       string  // SessionStart: startup, resume, fork, compact; UserPromptSubmit: user; ConfigChange: user_settings …
	Reason       string  // SessionEnd: other …; PermissionDenied: why; Stop: how the turn ended: completed, interrupted …
	Trigger      string  // PreCompact, PostCompact: manual, auto; Setup: init, maintenance, or "" at every start
	Instructions *string // PreCompact
	Summary      string  // PostCompact
	Active       bool    // Stop, SubagentStop: a hook has already kept the agent going (stop_hook_active)
	LastMessage  string  // Stop, SubagentStop, StopFailure: of the assistant
	Details      string  // StopFailure
	Model        string  // that answers; PostModelSwitch: from now on
	FromModel    string  // PostModelSwitch
	// Switch is what a change of model costs. Of PostModelSwitch.
	Switch ModelSwitch

	AgentTranscriptPath string // SubagentStop

	Message, Title, NotificationType string // Notification

	TaskID, TaskSubject, TaskDescription string // TaskCreated, TaskCompleted
	Teammate, Team                       string // and TeammateIdle

	FilePath, Change string // FileChanged: change, add, unlink; FilePath also of ConfigChange
	OldCWD, NewCWD   string // CwdChanged
	Name             string // WorktreeCreate

	Memory, LoadReason string   // InstructionsLoaded: Managed, User, Project, Local; session_start, include …
	Globs              []string // InstructionsLoaded: of a rule
	TriggerFile        string   // InstructionsLoaded: the file that was read
	ParentFile         string   // InstructionsLoaded: the file that includes it

	Expansion            string // UserPromptExpansion: slash_command
	Command, CommandArgs string // UserPromptExpansion: the name without its slash, and what stands behind it
	CommandSource        string // UserPromptExpansion: whose it is: user, project

	// Elicitation and ElicitationResult; what is asked is in Message.
	MCPServer       string
	ElicitMode      string // form, url
	ElicitURL       string
	ElicitID        string
	RequestedSchema json.RawMessage
	Action          string          // ElicitationResult: accept, decline, cancel
	Content         json.RawMessage // ElicitationResult: what was answered; secrets are masked
	Worktree        string          // WorktreeRemove

	// Requests are what the call would touch, for the "if" of a hook. It is not
	// written to commands.
	Requests []policy.Request
}

// ToolCall is one call of a finished round.
type ToolCall struct {
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	UseID    string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response,omitempty"`
}

// ModelSwitch is what is known of a change of model.
type ModelSwitch struct {
	Requested     *string // by a person; nil: nobody asked for it
	ContextTokens int64   // that the model has to read
	CacheWarm     bool    // the model has read them not long ago
	CacheTTL      string  // how long it keeps them: "5m"
	CacheWriteUSD float64 // about what reading them costs
	Pricing       string  // where the price is from: "catalog", or "default" when none is known
}
