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

	Block      *Said           // the first block, or failure that counts as one
	Permission string          // the strongest: deny, defer, ask, allow; "" is none; an allow is one of Input, where that is given
	Input      json.RawMessage // as folded by all that replaced it, or nil
	InputBy    string
	ToolOutput json.RawMessage // likewise
	Action     *Said           // what MCP servers are answered: the first that is no accept, else the last accept
	Content    json.RawMessage // with accept
	Context    []Said          // for the model: Context, SystemMessage, and plain text where that is context
	Notices    []Said          // for the person: Message, Warning, failures, what had no effect
	Notes      []Note          // notifications
	Updates    []Update
	Stop       *Said // end the turn
	Interrupt  bool
	Retry      bool
	Terminal   []string // sequences that are safe to send

	PermissionBy, PermissionReason string // of Permission: the hook, and why

	SessionTitle, InitialMessage, WorktreePath string
	WatchPaths                                 []string
	HidePrompt                                 bool

	session string // of one that came late: whose it is
}

// Said is a text and which hook it is from.
type Said struct {
	By   string
	What string
}
