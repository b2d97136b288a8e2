package transcript

import (
	"encoding/json"
	"strings"
	"time"
)

// Role is the role of an item's author.
type Role string

// The roles. A notification tells the model about an event, such as the end of a background task or
// a changed file. Providers without such a role get it as a user message.
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

// Dispatchable reports whether a model must answer an item of this role at the end of a transcript:
// user, tool and notification items.
func (r Role) Dispatchable() bool {
	return r == RoleUser || r == RoleTool || r == RoleNotification
}

// Finish is the reason why an assistant item ended.
type Finish string

// The finish reasons.
const (
	FinishStop      Finish = "stop"       // the model completed its answer
	FinishToolUse   Finish = "tool_use"   // the model waits for tool results
	FinishMaxTokens Finish = "max_tokens" // the answer was cut off at the output limit
	FinishCancelled Finish = "cancelled"  // the user or the host interrupted it
	FinishRefusal   Finish = "refusal"    // the provider refused the request
	FinishError     Finish = "error"      // the stream broke after a part of the text had arrived
)

// Usage is the number of tokens of one model call. Input counts only the uncached tokens; adapters
// split a provider's total.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"` // included in Output
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

// Total returns the number of tokens in the context after this call.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Native is a provider's own message, stored unchanged so that a later request repeats it byte for
// byte.
type Native struct {
	API  string          // the provider's API, for example "anthropic-messages"
	JSON json.RawMessage // exactly what the adapter sends for this item
}

// Item is one entry of a transcript.
//
// An Item is a value. This package does not change its slices and maps.
type Item struct {
	ID       string // unique within a session; set by the code that appends it
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
