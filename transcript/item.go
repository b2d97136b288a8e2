package transcript

import (
	"encoding/json"
	"strings"
	"time"
)

// Role says whose item it is.
type Role string

// The roles. Notification is something the runtime tells the model between
// turns (a background result, a file that changed); providers that have no such
// role get it as a user message.
const (
	RoleSystem       Role = "system"
	RoleDeveloper    Role = "developer"
	RoleUser         Role = "user"
	RoleAssistant    Role = "assistant"
	RoleTool         Role = "tool"
	RoleContext      Role = "context"
	RoleNotification Role = "notification"
)

// Valid reports whether r is one of the seven roles.
func (r Role) Valid() bool {
	switch r {
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool, RoleContext, RoleNotification:
		return true
	}
	return false
}

// Dispatchable reports whether an item of this role at the end of a transcript
// asks for a model's answer: user, tool and notification items do.
func (r Role) Dispatchable() bool {
	return r == RoleUser || r == RoleTool || r == RoleNotification
}

// Finish says why an assistant item ended.
type Finish string

// The finish reasons.
const (
	FinishStop      Finish = "stop"       // the model was done
	FinishToolUse   Finish = "tool_use"   // the model waits for tool results
	FinishMaxTokens Finish = "max_tokens" // the output limit cut the answer
	FinishCancelled Finish = "cancelled"  // a person or the host interrupted it
	FinishRefusal   Finish = "refusal"    // the provider refused the request
	FinishError     Finish = "error"      // the stream broke after text had arrived
)

// Usage counts tokens of one model call. Input is the uncached part only;
// a provider that reports a total has it split before it gets here.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"` // already contained in Output
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// Total is the number of tokens that the context of this call held.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Native is a provider's own message, kept verbatim so that a later request
// repeats it byte for byte.
type Native struct {
	API  string          // the wire it belongs to, for example "anthropic-messages"
	JSON json.RawMessage // exactly what the adapter sends for this item
}

// Item is one entry of a transcript.
//
// An Item is a value; its slices and maps belong to whoever made it and are not
// changed by this package.
type Item struct {
	ID       string // unique within a session; set by whoever appends it
	Role     Role
	Time     time.Time // UTC; zero until appended
	Model    string    // assistant items: the model that answered
	Finish   Finish    // assistant items
	Usage    *Usage    // assistant items
	Parts    []Part
	Native   *Native
	Metadata map[string]json.RawMessage // for hosts; never sent to a model
	Extra    map[string]json.RawMessage
}

// UserText returns a user item that holds one text part.
func UserText(text string) Item {
	return Item{Role: RoleUser, Parts: []Part{Text{Text: text}}}
}

// Item returns a tool item that answers one tool use.
func (r ToolResult) Item() Item {
	return Item{Role: RoleTool, Parts: []Part{r}}
}

// Text returns the item's text parts, joined by newlines.
func (it Item) Text() string {
	var b strings.Builder
	for _, p := range it.Parts {
		if t, ok := p.(Text); ok {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// ToolUses returns the item's tool uses in order.
func (it Item) ToolUses() []ToolUse {
	var uses []ToolUse
	for _, p := range it.Parts {
		if u, ok := p.(ToolUse); ok {
			uses = append(uses, u)
		}
	}
	return uses
}
