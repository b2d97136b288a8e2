package hook

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Input is what a hook is told. The first fields are those of every event; each of the others says
// which events fill it, and is zero otherwise. Commands read it as one flat JSON object, whose
// fields docs/reference/hooks.md lists; the names in parentheses are those in Claude Code's form.
type Input struct {
	Event          Event
	SessionID      string
	TranscriptPath string // a file in Claude Code's JSONL form, or ""
	CWD            string // the current directory
	Dir            string // where commands start; default CWD. It is not written to commands
	PermissionMode string
	Turn           string // turn_id, as Codex has it
	Agent          string // the sub-agent's name; "" for the main agent (agent_id, agentId)
	AgentType      string // of the sub-agent (agent_type)
	Model          string // that answers; PostModelSwitch: from now on (to_model)

	// Source is where something comes from: SessionStart (startup, resume, fork, compact),
	// UserPromptSubmit (user), ConfigChange (user_settings …), PostModelSwitch (auto).
	Source string
	// Reason is why: SessionEnd (other …), PermissionDenied, and Stop, where it is how the turn
	// ended (completed, interrupted …).
	Reason string
	// Trigger is what began it: PreCompact and PostCompact (manual, auto), and Setup (init,
	// maintenance, or "" at every start).
	Trigger string

	Tool         ToolCall         // PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, PermissionDenied
	Calls        []ToolCall       // PostToolBatch (tool_calls)
	Prompt       string           // UserPromptSubmit, UserPromptExpansion
	Command      SlashCommand     // UserPromptExpansion
	End          TurnEnd          // Stop, SubagentStop, StopFailure
	Instructions *string          // PreCompact (custom_instructions)
	Summary      string           // PostCompact (compact_summary)
	Switch       ModelSwitch      // PostModelSwitch
	Note         UserNotification // Notification (title, message, notification_type)
	Task         Task             // TaskCreated, TaskCompleted, TeammateIdle
	File         File             // FileChanged, ConfigChange, InstructionsLoaded
	OldCWD       string           // CwdChanged
	NewCWD       string           // CwdChanged
	WorktreeName string           // WorktreeCreate (name)
	WorktreePath string           // WorktreeRemove
	Question     MCPQuestion      // Elicitation, ElicitationResult
}

// ToolCall is a tool call, as far as an event knows it.
type ToolCall struct {
	Name     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	UseID    string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response,omitempty"` // of PostToolUse and PostToolBatch: the result in Claude Code's form

	Output      string        `json:"-"` // of PostToolUse: the result as text (seed 000's toolOutput)
	Error       string        `json:"-"` // of PostToolUseFailure; of PermissionDenied: why (error)
	Interrupted bool          `json:"-"` // of PostToolUseFailure (is_interrupt)
	Took        time.Duration `json:"-"` // of PostToolUse and PostToolUseFailure (duration_ms)
	// Suggestions are what a person could choose for the rest of the session, of
	// PermissionRequest: PermissionUpdate values in Claude Code's form (permission_suggestions).
	Suggestions json.RawMessage `json:"-"`
	// Settled says that Input is what will run, and that it was changed since the call
	// was first put to the hooks: another input is left out, and an allow of another one does not count.
	// It is not written to commands.
	Settled bool `json:"-"`
	// Requests are what the call would touch, for the "if" of a hook. They are not
	// written to commands.
	Requests []policy.Request `json:"-"`
}

// SlashCommand is a command in a prompt that stands for a longer text.
type SlashCommand struct {
	Type   string // slash_command (expansion_type)
	Name   string // without its slash (command_name)
	Args   string // what stands behind it (command_args)
	Source string // whose it is: user, project (command_source)
}

// TurnEnd is how a turn ended.
type TurnEnd struct {
	StopHookActive bool   // a hook has already kept the agent going; not of StopFailure
	LastMessage    string // of the assistant (last_assistant_message)

	// Of StopFailure: the kind of the error, such as authentication_failed, and its text (error_details).
	Error, Details string

	AgentTranscriptPath string // of SubagentStop
}

// ModelSwitch is a change of the model that answers, and what it costs.
type ModelSwitch struct {
	From          string  // the model until now (from_model)
	Requested     *string // by a person; nil: nobody asked for it (requested_model)
	ContextTokens int64   // that the model has to read
	CacheWarm     bool    // the model has read them not long ago (prompt_cache_warm)
	CacheTTL      string  // how long it keeps them: "5m"
	CacheWriteUSD float64 // about what reading them costs (estimated_cache_write_usd)
	Pricing       string  // where the price is from: "catalog", or "default" when none is known
}

// Task is a task of a team, or, of TeammateIdle, only who has none.
type Task struct {
	ID, Subject, Description string // task_id, task_subject, task_description
	Teammate, Team           string // teammate_name, team_name
}

// File is a file that changed, or was read.
type File struct {
	Path   string // file_path
	Change string // of FileChanged: change, add, unlink (event)

	// Of InstructionsLoaded:
	Memory      string   // Managed, User, Project, Local (memory_type)
	LoadReason  string   // session_start, include …
	Globs       []string // of a rule
	TriggerFile string   // the file that was read (trigger_file_path)
	ParentFile  string   // the file that includes it (parent_file_path)
}

// MCPQuestion is what an MCP server asks a person, and the answer.
type MCPQuestion struct {
	Server  string          // mcp_server_name
	Message string          // of Elicitation
	Mode    string          // form, url
	URL     string          // of Elicitation
	ID      string          // elicitation_id
	Schema  json.RawMessage // of Elicitation: of the form (requested_schema)
	Action  string          // of ElicitationResult: accept, decline, cancel
	Content json.RawMessage // of ElicitationResult: what was answered; secrets are masked
}
