package hook

import (
	"slices"
	"strings"
	"sync"
)

// wireField is one field of the JSON that commands read: its names in the two dialects and its
// location in an [Input]. at returns a pointer to the value: to a string, a *string, a number, a
// bool, a time.Duration (milliseconds), raw JSON, or a list of strings or calls.
type wireField struct {
	claude, seed string
	at           func(*Input) any
}

// Names of the fields that contain the event's name.
const (
	claudeEvent = "hook_event_name"
	seedEvent   = "event"
)

// wireFields lists every field except the event's name. Two fields may share a name if no event has
// both.
var wireFields = []wireField{
	{"session_id", "sessionId", func(in *Input) any { return &in.SessionID }},
	{"transcript_path", "transcriptPath", func(in *Input) any { return &in.TranscriptPath }},
	{"cwd", "cwd", func(in *Input) any { return &in.CWD }},
	{"permission_mode", "permissionMode", func(in *Input) any { return &in.PermissionMode }},
	{"turn_id", "", func(in *Input) any { return &in.Turn }},
	{"agent_id", "agentId", func(in *Input) any { return &in.Agent }},
	{"agent_type", "agentType", func(in *Input) any { return &in.AgentType }},

	{"tool_name", "toolName", func(in *Input) any { return &in.Tool.Name }},
	{"tool_input", "toolInput", func(in *Input) any { return &in.Tool.Input }},
	{"tool_use_id", "toolUseId", func(in *Input) any { return &in.Tool.UseID }},
	{"tool_response", "", func(in *Input) any { return &in.Tool.Response }},
	{"", "toolOutput", func(in *Input) any { return &in.Tool.Output }},
	{"error", "error", func(in *Input) any {
		if in.Event == StopFailure {
			return &in.End.Error
		}
		return &in.Tool.Error
	}},
	{"is_interrupt", "isInterrupt", func(in *Input) any { return &in.Tool.Interrupted }},
	{"duration_ms", "", func(in *Input) any { return &in.Tool.Took }},
	{"permission_suggestions", "permissionSuggestions", func(in *Input) any { return &in.Tool.Suggestions }},
	{"tool_calls", "", func(in *Input) any { return &in.Calls }},

	{"prompt", "prompt", func(in *Input) any { return &in.Prompt }},
	{"source", "source", func(in *Input) any { return &in.Source }},
	{"reason", "reason", func(in *Input) any { return &in.Reason }},
	{"trigger", "trigger", func(in *Input) any { return &in.Trigger }},
	{"custom_instructions", "customInstructions", func(in *Input) any { return &in.Instructions }},
	{"compact_summary", "compactSummary", func(in *Input) any { return &in.Summary }},
	{"stop_hook_active", "stopHookActive", func(in *Input) any { return &in.End.StopHookActive }},
	{"last_assistant_message", "lastAssistantMessage", func(in *Input) any { return &in.End.LastMessage }},
	{"error_details", "", func(in *Input) any { return &in.End.Details }},
	{"model", "model", func(in *Input) any { return &in.Model }},
	{"from_model", "", func(in *Input) any { return &in.Switch.From }},
	{"to_model", "", func(in *Input) any { return &in.Model }},
	{"requested_model", "", func(in *Input) any { return &in.Switch.Requested }},
	{"context_tokens", "", func(in *Input) any { return &in.Switch.ContextTokens }},
	{"prompt_cache_warm", "", func(in *Input) any { return &in.Switch.CacheWarm }},
	{"cache_ttl", "", func(in *Input) any { return &in.Switch.CacheTTL }},
	{"estimated_cache_write_usd", "", func(in *Input) any { return &in.Switch.CacheWriteUSD }},
	{"pricing", "", func(in *Input) any { return &in.Switch.Pricing }},
	{"agent_transcript_path", "agentTranscriptPath", func(in *Input) any { return &in.End.AgentTranscriptPath }},

	{"message", "message", func(in *Input) any {
		if in.Event == Elicitation {
			return &in.Question.Message
		}
		return &in.Note.Body
	}},
	{"title", "title", func(in *Input) any { return &in.Note.Title }},
	{"notification_type", "notificationType", func(in *Input) any { return &in.Note.Type }},
	{"task_id", "taskId", func(in *Input) any { return &in.Task.ID }},
	{"task_subject", "taskSubject", func(in *Input) any { return &in.Task.Subject }},
	{"task_description", "taskDescription", func(in *Input) any { return &in.Task.Description }},
	{"teammate_name", "teammateName", func(in *Input) any { return &in.Task.Teammate }},
	{"team_name", "teamName", func(in *Input) any { return &in.Task.Team }},
	{"file_path", "filePath", func(in *Input) any { return &in.File.Path }},
	{"event", "change", func(in *Input) any { return &in.File.Change }},
	{"old_cwd", "oldCwd", func(in *Input) any { return &in.OldCWD }},
	{"new_cwd", "newCwd", func(in *Input) any { return &in.NewCWD }},
	{"name", "name", func(in *Input) any { return &in.WorktreeName }},
	{"worktree_path", "worktreePath", func(in *Input) any { return &in.WorktreePath }},
	{"mcp_server_name", "", func(in *Input) any { return &in.Question.Server }},
	{"mode", "", func(in *Input) any { return &in.Question.Mode }},
	{"url", "", func(in *Input) any { return &in.Question.URL }},
	{"elicitation_id", "", func(in *Input) any { return &in.Question.ID }},
	{"requested_schema", "", func(in *Input) any { return &in.Question.Schema }},
	{"action", "", func(in *Input) any { return &in.Question.Action }},
	{"content", "", func(in *Input) any { return &in.Question.Content }},
	{"memory_type", "", func(in *Input) any { return &in.File.Memory }},
	{"load_reason", "", func(in *Input) any { return &in.File.LoadReason }},
	{"globs", "", func(in *Input) any { return &in.File.Globs }},
	{"trigger_file_path", "", func(in *Input) any { return &in.File.TriggerFile }},
	{"parent_file_path", "", func(in *Input) any { return &in.File.ParentFile }},
	{"expansion_type", "", func(in *Input) any { return &in.Command.Type }},
	{"command_name", "", func(in *Input) any { return &in.Command.Name }},
	{"command_args", "", func(in *Input) any { return &in.Command.Args }},
	{"command_source", "", func(in *Input) any { return &in.Command.Source }},
}

// claudeBase lists the fields of every event in Claude's dialect, and claudeOf the additional
// fields of each event. "?" marks a field that is omitted if empty. turn_id and model are fields of
// Codex, whose hooks read the same form.
const claudeBase = "session_id transcript_path cwd permission_mode? agent_id? agent_type? turn_id? model?"

var claudeOf = map[Event]string{
	PreToolUse:         "tool_name tool_input tool_use_id",
	PostToolUse:        "tool_name tool_input tool_response tool_use_id duration_ms?",
	PostToolUseFailure: "tool_name tool_input tool_use_id error is_interrupt? duration_ms?",
	PostToolBatch:      "tool_calls",
	PermissionRequest:  "tool_name tool_input permission_suggestions?",
	PermissionDenied:   "tool_name tool_input tool_use_id reason",
	SessionStart:       "source",
	SessionEnd:         "reason",
	Setup:              "trigger",
	Stop:               "stop_hook_active last_assistant_message?",
	StopFailure:        "error error_details? last_assistant_message?",
	SubagentStart:      "agent_id agent_type",
	SubagentStop:       "stop_hook_active agent_id agent_transcript_path agent_type last_assistant_message?",
	UserPromptSubmit:   "prompt source?",
	TaskCreated:        "task_id task_subject task_description? teammate_name? team_name?",
	TaskCompleted:      "task_id task_subject task_description? teammate_name? team_name?",
	TeammateIdle:       "teammate_name team_name",
	ConfigChange:       "source file_path?",
	CwdChanged:         "old_cwd new_cwd",
	FileChanged:        "file_path event",
	Notification:       "message title? notification_type",
	PreCompact:         "trigger custom_instructions",
	PostCompact:        "trigger compact_summary",
	PostModelSwitch:    "from_model to_model source? requested_model context_tokens prompt_cache_warm cache_ttl estimated_cache_write_usd pricing",
	WorktreeCreate:     "name",
	WorktreeRemove:     "worktree_path",

	InstructionsLoaded:  "file_path memory_type load_reason globs? trigger_file_path? parent_file_path?",
	UserPromptExpansion: "expansion_type command_name command_args command_source? prompt",
	Elicitation:         "mcp_server_name message mode? url? elicitation_id? requested_schema?",
	ElicitationResult:   "mcp_server_name elicitation_id? mode? action content?",
}

// seedBase and seedOf are the corresponding lists for the dialect of the Open Agent SDK. That SDK
// has one set of fields for all events. Fields of events that the Open Agent SDK never fires are
// added with Claude Code's names, in the SDK's spelling: taskId for task_id.
const seedBase = "toolName? toolInput? toolOutput? toolUseId? sessionId? cwd? error? transcriptPath? permissionMode? agentId? agentType? " +
	"stopHookActive? lastAssistantMessage? trigger? customInstructions? permissionSuggestions? isInterrupt? agentTranscriptPath?"

var seedOf = map[Event]string{
	PermissionDenied: "reason?",
	SessionStart:     "source? model?",
	SessionEnd:       "reason?",
	Stop:             "stopHookActive reason?",
	SubagentStop:     "stopHookActive",
	UserPromptSubmit: "prompt source?",
	TaskCreated:      "taskId taskSubject taskDescription? teammateName? teamName?",
	TaskCompleted:    "taskId taskSubject taskDescription? teammateName? teamName?",
	TeammateIdle:     "teammateName teamName",
	ConfigChange:     "source filePath?",
	CwdChanged:       "oldCwd newCwd",
	FileChanged:      "filePath change",
	Notification:     "message title? notificationType",
	PostCompact:      "compactSummary",
	WorktreeCreate:   "name",
	WorktreeRemove:   "worktreePath",
}

// wirePart is a field in the JSON of one event.
type wirePart struct {
	name     string
	optional bool
	at       func(*Input) any
}

// wirePlans lists the fields of each event's JSON except the event's name, by dialect.
var wirePlans = sync.OnceValue(func() map[string]map[Event][]wirePart {
	return map[string]map[Event][]wirePart{dialectClaude: planWire(dialectClaude, claudeBase, claudeOf), dialectSeed: planWire(dialectSeed, seedBase, seedOf)}
})

func planWire(d, base string, of map[Event]string) map[Event][]wirePart {
	plan := map[Event][]wirePart{}
	for _, info := range events {
		specific := strings.Fields(of[info.Event])
		for name := range strings.FieldsSeq(base) {
			if bare := strings.TrimSuffix(name, "?"); !slices.Contains(specific, bare) && !slices.Contains(specific, bare+"?") {
				plan[info.Event] = append(plan[info.Event], newWirePart(d, name))
			}
		}
		for _, name := range specific {
			plan[info.Event] = append(plan[info.Event], newWirePart(d, name))
		}
	}
	return plan
}

func newWirePart(d, name string) wirePart {
	name, optional := strings.CutSuffix(name, "?")
	i := slices.IndexFunc(wireFields, func(f wireField) bool {
		return d == dialectClaude && f.claude == name || d == dialectSeed && f.seed == name
	})
	return wirePart{name: name, optional: optional, at: wireFields[i].at}
}
