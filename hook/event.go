package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Event is a moment of an agent's life, by Claude Code's name.
type Event string

// The events: the 23 of seed 000, and of Claude Code's those for which this
// runtime has the moment.
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

// Dialect is the convention that a hook was written for. It follows from the
// spelling of the event's name: Claude's "PreToolUse", seed 000's "preToolUse".
type Dialect string

// The dialects. What differs: the JSON on standard input, what exit codes and
// plain text mean, how a matcher compares, and the default time.
const (
	Claude Dialect = "claude" // also of functions
	Seed   Dialect = "seed"
)

// Info is what is known about an event.
type Info struct {
	Event    Event
	Seed     string        // its name in seed 000, or ""
	Matches  string        // the input field that matchers compare, or ""
	Blocks   bool          // a block (exit code 2) keeps something from happening
	Guards   bool          // what cannot be asked counts as a block, see [OnFailure]
	Rewrites bool          // outputs replace something: hooks run strictly one after another
	Context  bool          // plain text of a command in Claude's dialect is for the model
	EnvFile  bool          // commands may set variables for later commands, see CLAUDE_ENV_FILE
	Timeout  time.Duration // default of commands in Claude's dialect
}

// SeedTimeout is the default time of functions and of commands in seed 000's dialect.
const SeedTimeout = 30 * time.Second

const usualTimeout = 10 * time.Minute

// events is the closed set.
var events = []Info{
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

// absent are events of Claude Code that have no moment here, and why. A hook for
// one of them is refused: it would never run.
var absent = map[string]string{
	"PreModelSwitch": "the model does not change while a session runs",
	"DirectoryAdded": "folders are not added while a session runs",
	"MessageDisplay": "what is shown is not changed",
}

// Events lists the closed set.
func Events() []Info { return slices.Clone(events) }

// Info returns what is known about e; false when there is no such event.
func (e Event) Info() (Info, bool) {
	i := slices.IndexFunc(events, func(in Info) bool { return in.Event == e })
	if i < 0 {
		return Info{}, false
	}
	in := events[i]
	if in.Timeout == 0 {
		in.Timeout = usualTimeout
	}
	return in, true
}

// ParseEvent reads an event's name in either spelling, and says in which. The
// error of a name that nobody knows has a hint.
func ParseEvent(name string) (Event, Dialect, error) {
	for _, in := range events {
		switch name {
		case string(in.Event):
			return in.Event, Claude, nil
		case in.Seed:
			if name != "" {
				return in.Event, Seed, nil
			}
		}
	}
	if why, ok := absent[name]; ok {
		return "", "", &Error{What: name + " is never fired here: " + why, Advice: "take the hook out"}
	}
	var names, claude []string
	for _, in := range events {
		names, claude = append(names, string(in.Event)), append(claude, string(in.Event))
		if in.Seed != "" {
			names = append(names, in.Seed)
		}
	}
	short := name[:min(len(name), maxNear)]
	far := func(known string) int { return spelling.Edits(bare(known), bare(short)) }
	hint := "known are " + strings.Join(claude, ", ")
	near := slices.MinFunc(names, func(a, b string) int {
		return cmp.Or(far(a)-far(b), spelling.Edits(a, short)-spelling.Edits(b, short))
	})
	if far(near) <= 3 {
		hint = "did you mean " + near + "?"
	}
	return "", "", &Error{What: fmt.Sprintf("there is no event %.60q", name), Advice: hint}
}

// bare is a name without its spelling: "pre_tool_use" is "pretooluse".
func bare(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}
