package hook

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Outcome is what the hooks of one event say together.
type Outcome struct {
	Event   Event
	Outputs []*Output       // of those that said something, in order of registration
	Ran     *record.HookRan // for the log; nil when nothing ran

	Block         *Text           // the first block, or failure that counts as one
	Permission    string          // the strongest: deny, defer, ask, allow; "" is none; an allow is one of Input, where that is given
	Input         json.RawMessage // as folded by all that replaced it, or nil
	InputHook     string
	ToolOutput    json.RawMessage    // likewise
	Action        *Text              // what MCP servers are answered: the first that is no accept, else the last accept
	Content       json.RawMessage    // with accept
	Context       []Text             // for the model: Context, SystemMessage, and plain text where that is context
	Notices       []Text             // for the person: Message, Warning, failures, what had no effect
	Notifications []UserNotification // notifications
	Updates       []PermissionUpdate
	Stop          *Text // end the turn
	Interrupt     bool
	Retry         bool
	Terminal      []string // sequences that are safe to send

	PermissionHook, PermissionReason string // of Permission: the hook, and why

	SessionTitle, InitialMessage, WorktreePath string
	WatchPaths                                 []string
	SuppressPrompt                             bool

	session string // of one that came late: whose it is
}

// Text is a text and which hook it is from.
type Text struct {
	Hook string
	Text string
}
