package hook

import "encoding/json"

// Outcome is what the hooks of one event say together.
type Outcome struct {
	Event   Event
	Outputs []*Output // of those that said something, in order of registration
	Ran     *Ran      // for the log; nil when nothing ran

	Block      *Said           // the first block, or failure that counts as one
	Permission *Permission     // the strongest: deny, defer, ask, allow; an allow is one of Input, where that is given
	Input      json.RawMessage // as folded by all that replaced it, or nil
	InputBy    string
	ToolOutput json.RawMessage // likewise
	Action     *Said           // what MCP servers are answered: the first that is no accept, else the last accept
	Content    json.RawMessage // with accept
	Context    []Said          // for the model: Context, SystemMessage, and plain text where that is context
	Notices    []Said          // for the person: Message, Warning, failures, what had no effect
	Notes      []Note          // notifications
	Updates    []BySaid[Update]
	Stop       *Said // end the turn
	Interrupt  bool
	Retry      bool
	Terminal   []string // sequences that are safe to send

	SessionTitle, InitialMessage, WorktreePath string
	WatchPaths                                 []string
	HidePrompt                                 bool

	session string // of one that came late: whose it is
}

// Said is a text and which hook it is from.
type Said = BySaid[string]

// BySaid is what one hook wants.
type BySaid[T any] struct {
	By   string
	What T
}

// Permission is an opinion about a call.
type Permission struct {
	Behavior string // allow, deny, ask or defer
	Reason   string
	By       string
}

// Ran is the payload of a hook.ran record: which hooks ran at one moment and what
// came of it. Functions that said nothing are counted only.
type Ran struct {
	Event Event  `json:"event"`
	Use   string `json:"use_id,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Hooks []Run  `json:"hooks,omitempty"`
	Quiet int    `json:"quiet,omitempty"` // functions that said nothing
}

// Run is one hook's part in a [Ran].
type Run struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
	Type   string `json:"type"`
	Source string `json:"source,omitempty"` // file:line
	Millis int64  `json:"ms"`
	Exit   *int   `json:"exit_code,omitempty"`
	// Effect is the first that it had of block, deny, defer, ask, allow, input, output,
	// context and stop; or async: started, and not waited for (see [Registry.Late]).
	Effect string `json:"effect,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Again  bool   `json:"again,omitempty"` // about an input that was changed since the call was first put to it
}
