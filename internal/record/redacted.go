package record

import "encoding/json"

// Erased replaces erased text.
const Erased = "[erased]"

// Redacted is the payload of a [KindRedacted] record: the payloads of the listed records were erased.
type Redacted struct {
	Seqs         []int64       `json:"seqs"`
	Replacements []Replacement `json:"instead,omitempty"`
	Listed       *Listed       `json:"listed,omitempty"`
	Reason       string        `json:"reason,omitempty"`
	By           string        `json:"by,omitempty"`
}

// Replacement replaces an erased payload. It is an item with the same id, role and tool uses but
// without content, or a payload with masked secrets. Readers skip an erased record without a
// replacement.
type Replacement struct {
	Seq     int64           `json:"seq"`
	Payload json.RawMessage `json:"payload"`
}

// Listed contains all list fields of a session after an erasure, because they can no longer be
// computed from the remaining records.
type Listed struct {
	Messages int             `json:"messages"`
	Prompt   string          `json:"first_prompt,omitempty"`
	Run      string          `json:"run,omitempty"` // session.Meta.Run; "" keeps it
	Patch    json.RawMessage `json:"meta"`          // a session.MetaPatch
}
