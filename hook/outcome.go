package hook

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Outcome is the merged result of all hooks of one event.
type Outcome struct {
	Event   Event
	Outputs []*Output       // the outputs of hooks that returned a result, in order of registration
	Ran     *record.HookRan // the record for the log; nil if nothing ran

	Block         *Text           // the first block, or the first failure that is treated as a block
	Permission    string          // the strongest permission: deny, defer, ask, allow; "" means none; an allow is for Input, if that is set
	Input         json.RawMessage // after all replacements, or nil
	InputHook     string
	ToolOutput    json.RawMessage    // after all replacements, or nil
	Action        *Text              // answer to the MCP server: the first decline or cancel, or else the last accept
	Content       json.RawMessage    // with accept
	Context       []Text             // texts for the model: Context, SystemMessage, and plain text if the event uses it as context
	Notices       []Text             // texts for the user: Message, Warning, failures, and results that have no effect
	Notifications []UserNotification // for the user
	Updates       []PermissionUpdate
	Stop          *Text // end the turn
	Interrupt     bool
	Retry         bool
	Terminal      []string // terminal sequences that are safe to send

	PermissionHook, PermissionReason string // the hook that set Permission, and the reason it gave

	SessionTitle, InitialMessage, WorktreePath string
	WatchPaths                                 []string
	SuppressPrompt                             bool

	session string // the id of the session, if this is the outcome of an asynchronous hook
}

// Text is a text together with the name of the hook that returned it.
type Text struct {
	Hook string
	Text string
}
