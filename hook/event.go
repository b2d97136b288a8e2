package hook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Event is a hook event, by Claude Code's name.
type Event string

// The events: the 23 of the Open Agent SDK, and those of Claude Code that this runtime can fire.
const (
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	PostToolBatch      Event = "PostToolBatch"
	SessionStart       Event = "SessionStart"
	SessionEnd         Event = "SessionEnd"
	Setup              Event = "Setup"
	Stop               Event = "Stop"
	StopFailure        Event = "StopFailure"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PermissionRequest  Event = "PermissionRequest"
	PermissionDenied   Event = "PermissionDenied"
	TaskCreated        Event = "TaskCreated"
	TaskCompleted      Event = "TaskCompleted"
	TeammateIdle       Event = "TeammateIdle"
	ConfigChange       Event = "ConfigChange"
	CwdChanged         Event = "CwdChanged"
	FileChanged        Event = "FileChanged"
	Notification       Event = "Notification"
	PreCompact         Event = "PreCompact"
	PostCompact        Event = "PostCompact"
	PostModelSwitch    Event = "PostModelSwitch"
	WorktreeCreate     Event = "WorktreeCreate"
	WorktreeRemove     Event = "WorktreeRemove"

	InstructionsLoaded  Event = "InstructionsLoaded"
	UserPromptExpansion Event = "UserPromptExpansion"
	Elicitation         Event = "Elicitation"
	ElicitationResult   Event = "ElicitationResult"
)

// The dialects, see [Definition].Dialect.
const (
	dialectClaude = "claude" // also for functions
	dialectSeed   = "seed"
)

// eventInfo describes an event.
type eventInfo struct {
	Event    Event
	Seed     string        // the event's name in the Open Agent SDK, or ""
	Matches  string        // the input field that matchers compare, or ""
	Blocks   bool          // a block (exit code 2) prevents something
	Guards   bool          // see [Event.Guards]
	Rewrites bool          // see [Event.Rewrites]
	Context  bool          // plain text of a command in Claude's dialect is for the model
	EnvFile  bool          // see [Event.SetsVariables]
	Timeout  time.Duration // default timeout of commands in Claude's dialect
}

// seedTimeout is the default timeout of functions, and of commands in the dialect of the Open Agent
// SDK.
const seedTimeout = 30 * time.Second

const defaultTimeout = 10 * time.Minute

// events is the complete set of events.
var events = []eventInfo{
	{Event: PreToolUse, Seed: "preToolUse", Matches: "tool_name", Blocks: true, Guards: true, Rewrites: true},
	{Event: PostToolUse, Seed: "postToolUse", Matches: "tool_name", Blocks: true, Rewrites: true},
	{Event: PostToolUseFailure, Seed: "postToolUseFailure", Matches: "tool_name", Blocks: true},
	{Event: PostToolBatch, Blocks: true},
	{Event: SessionStart, Seed: "sessionStart", Matches: "source", Context: true, EnvFile: true},
	{Event: SessionEnd, Seed: "sessionEnd", Matches: "reason", Timeout: 1500 * time.Millisecond},
	{Event: Setup, Seed: "setup", Matches: "trigger", EnvFile: true},
	{Event: Stop, Seed: "stop", Blocks: true},
	{Event: StopFailure, Matches: "error"},
	{Event: SubagentStart, Seed: "subagentStart", Matches: "agent_type"},
	{Event: SubagentStop, Seed: "subagentStop", Matches: "agent_type", Blocks: true},
	{Event: UserPromptSubmit, Seed: "userPromptSubmit", Blocks: true, Guards: true, Context: true, Timeout: 30 * time.Second},
	{Event: PermissionRequest, Seed: "permissionRequest", Matches: "tool_name", Guards: true, Rewrites: true},
	{Event: PermissionDenied, Seed: "permissionDenied", Matches: "tool_name"},
	{Event: TaskCreated, Seed: "taskCreated", Blocks: true},
	{Event: TaskCompleted, Seed: "taskCompleted", Blocks: true},
	{Event: TeammateIdle, Seed: "teammateIdle", Blocks: true},
	{Event: ConfigChange, Seed: "configChange", Matches: "source", Blocks: true},
	{Event: CwdChanged, Seed: "cwdChanged", EnvFile: true},
	{Event: FileChanged, Seed: "fileChanged", Matches: "file_path", EnvFile: true},
	{Event: Notification, Seed: "notification", Matches: "notification_type"},
	{Event: PreCompact, Seed: "preCompact", Matches: "trigger", Blocks: true},
	{Event: PostCompact, Seed: "postCompact", Matches: "trigger"},
	{Event: PostModelSwitch},
	{Event: WorktreeCreate, Seed: "worktreeCreate", Blocks: true, Rewrites: true},
	{Event: WorktreeRemove, Seed: "worktreeRemove"},
	{Event: InstructionsLoaded, Matches: "load_reason"},
	{Event: UserPromptExpansion, Matches: "command_name", Blocks: true, Guards: true, Context: true},
	{Event: Elicitation, Matches: "mcp_server_name", Blocks: true},
	{Event: ElicitationResult, Matches: "mcp_server_name", Blocks: true},
}

// absent lists events of Claude Code that this runtime never fires, each with the reason. A hook
// for such an event is rejected, because it would never run.
var absent = map[string]string{
	"PreModelSwitch": "the model does not change during a run",
	"DirectoryAdded": "folders are not added during a run",
	"MessageDisplay": "output that is already shown cannot be changed",
}

// Events lists all events.
func Events() []Event {
	list := make([]Event, len(events))
	for i, info := range events {
		list[i] = info.Event
	}
	return list
}

// info returns the description of e; it returns false if there is no such event.
func (e Event) info() (eventInfo, bool) {
	i := slices.IndexFunc(events, func(in eventInfo) bool { return in.Event == e })
	if i < 0 {
		return eventInfo{}, false
	}
	in := events[i]
	if in.Timeout == 0 {
		in.Timeout = defaultTimeout
	}
	return in, true
}

// Guards reports whether a failing hook of e may be treated as a block, see [Definition].OnFailure.
func (e Event) Guards() bool { in, _ := e.info(); return in.Guards }

// Rewrites reports whether the output of a hook for e can replace something, such as the input of a
// call. The hooks of such an event run strictly one after another.
func (e Event) Rewrites() bool { in, _ := e.info(); return in.Rewrites }

// SetsVariables reports whether commands of e may set variables for later commands.
func (e Event) SetsVariables() bool { in, _ := e.info(); return in.EnvFile }

// Spelled returns the name of e in a dialect: for example, "preToolUse" in the dialect "seed". An
// event that the dialect does not have keeps its name.
func (e Event) Spelled(dialect string) string {
	if in, _ := e.info(); dialect == dialectSeed && in.Seed != "" {
		return in.Seed
	}
	return string(e)
}

// Canonical returns the event that has the name e in one of the dialects: [PreToolUse] for
// "preToolUse". The error for an unknown or unsupported event is an *[Error] with a hint.
func (e Event) Canonical() (Event, error) {
	event, _, err := parseEvent(string(e))
	return event, err
}

// parseEvent parses an event name in either spelling, and returns its dialect.
func parseEvent(name string) (Event, string, error) {
	for _, in := range events {
		switch name {
		case string(in.Event):
			return in.Event, dialectClaude, nil
		case in.Seed:
			if name != "" {
				return in.Event, dialectSeed, nil
			}
		}
	}
	if why, ok := absent[name]; ok {
		return "", "", &Error{What: name + " is not supported: " + why, Advice: "remove the hook"}
	}
	var names, claude []string
	for _, in := range events {
		names, claude = append(names, string(in.Event)), append(claude, string(in.Event))
		if in.Seed != "" {
			names = append(names, in.Seed)
		}
	}
	hint := "the events are " + strings.Join(claude, ", ")
	if near := spelling.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return "", "", &Error{What: fmt.Sprintf("unknown event %.60q", name), Advice: hint}
}

// normalizeName removes differences in the spelling of a name: "pre_tool_use" becomes "pretooluse".
func normalizeName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}
