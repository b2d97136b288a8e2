package hook

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Input describes an event to a hook. The first fields are set for every event. Each of the others
// lists the events that set it, and is zero otherwise. Commands read it as one flat JSON object,
// whose fields are listed in docs/reference/hooks.md. The names in parentheses are those of Claude
// Code's form.
type Input struct {
	Event          Event
	SessionID      string
	TranscriptPath string // a file in Claude Code's JSONL form, or ""
	CWD            string // the current directory
	Dir            string // folder in which commands start; default CWD. Not passed to commands
	PermissionMode string
	Turn           string // turn_id, as in Codex
	Agent          string // the name of the sub-agent; "" for the main agent (agent_id, agentId)
	AgentType      string // the sub-agent's type (agent_type)
	Model          string // current model; for PostModelSwitch: the new model (to_model)

	// Source is the origin of the event: SessionStart (startup, resume, fork, compact),
	// UserPromptSubmit (user), ConfigChange (user_settings …), PostModelSwitch (auto).
	Source string
	// Reason is the cause: for SessionEnd (other …), for PermissionDenied, and for Stop, where it
	// describes how the turn ended (completed, interrupted …).
	Reason string
	// Trigger is the cause of the event. For PreCompact and PostCompact it is manual or auto. For
	// Setup it is init or maintenance if the user requested a setup, and "" at any other start.
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

// ToolCall is a tool call, with the data that an event has about it.
type ToolCall struct {
	Name     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	UseID    string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response,omitempty"` // for PostToolUse and PostToolBatch: the result in Claude Code's form

	Output      string        `json:"-"` // for PostToolUse: the result as text (the Open Agent SDK's toolOutput)
	Error       string        `json:"-"` // for PostToolUseFailure: the error; for PermissionDenied: the reason (error)
	Interrupted bool          `json:"-"` // PostToolUseFailure (is_interrupt)
	Took        time.Duration `json:"-"` // PostToolUse and PostToolUseFailure (duration_ms)
	// Suggestions, for PermissionRequest, are changes that the user could choose for the rest of
	// the session: a list of PermissionUpdate values in Claude Code's form
	// (permission_suggestions).
	Suggestions json.RawMessage `json:"-"`
	// Settled reports that Input is the final input and differs from the input that the hooks saw
	// first. A new input from the hook is then ignored, and so is an allow that comes with a
	// different input. Settled is not passed to commands.
	Settled bool `json:"-"`
	// Requests are what the call would access, for a hook's "if". They are not passed to commands.
	Requests []policy.Request `json:"-"`
}

// SlashCommand is a command in a prompt that was expanded to a longer text.
type SlashCommand struct {
	Type   string // slash_command (expansion_type)
	Name   string // without its slash (command_name)
	Args   string // the text after the command (command_args)
	Source string // where the command is defined: user, project (command_source)
}

// TurnEnd is how a turn ended.
type TurnEnd struct {
	StopHookActive bool   // a hook has already kept the agent from stopping; not for StopFailure
	LastMessage    string // last text of the assistant (last_assistant_message)

	// For StopFailure: the type of the error, such as authentication_failed, and the text of the
	// error (error_details).
	Error, Details string

	AgentTranscriptPath string // SubagentStop
}

// ModelSwitch is a change of the model during a session, and its cost.
type ModelSwitch struct {
	From          string  // the model that was used until now (from_model)
	Requested     *string // the model that the user requested; nil if none was requested (requested_model)
	ContextTokens int64   // number of tokens that the new model has to read
	CacheWarm     bool    // whether the model's prompt cache contains them (prompt_cache_warm)
	CacheTTL      string  // lifetime of the cache: "5m"
	CacheWriteUSD float64 // estimated cost of reading them (estimated_cache_write_usd)
	Pricing       string  // source of the price: "catalog", or "default" if no price is known
}

// Task is a task of a team. For TeammateIdle, only the teammate and team are set.
type Task struct {
	ID, Subject, Description string // task_id, task_subject, task_description
	Teammate, Team           string // teammate_name, team_name
}

// File is a file that changed, or was read.
type File struct {
	Path   string // file_path
	Change string // for FileChanged: change, add, unlink (event)

	// For InstructionsLoaded:
	Memory      string   // Managed, User, Project, Local (memory_type)
	LoadReason  string   // session_start, include …
	Globs       []string // globs of a rule
	TriggerFile string   // the file that was read (trigger_file_path)
	ParentFile  string   // the file that includes this one (parent_file_path)
}

// MCPQuestion is a form that an MCP server shows to the user, and the user's answer.
type MCPQuestion struct {
	Server  string          // mcp_server_name
	Message string          // Elicitation
	Mode    string          // form, url
	URL     string          // Elicitation
	ID      string          // elicitation_id
	Schema  json.RawMessage // Elicitation: the form's schema (requested_schema)
	Action  string          // ElicitationResult: accept, decline, cancel
	Content json.RawMessage // for ElicitationResult: the answer; secrets are masked
}
