package record

import "encoding/json"

// Erased is what stands where text was erased.
const Erased = "[erased]"

// Redacted is the payload of a record of [KindRedacted]: the payloads of the listed records
// were erased.
type Redacted struct {
	Seqs         []int64       `json:"seqs"`
	Replacements []Replacement `json:"instead,omitempty"`
	Listed       *Listed       `json:"listed,omitempty"`
	Reason       string        `json:"reason,omitempty"`
	By           string        `json:"by,omitempty"`
}

// Replacement is what is read in the place of an erased payload: an item of the same id,
// role and tool uses without its content, or a payload whose secrets are masked. An
// erased record without one is passed over.
type Replacement struct {
	Seq     int64           `json:"seq"`
	Payload json.RawMessage `json:"payload"`
}

// Listed is what a list shows of a session once records are erased, all of it: it no
// longer follows from what is left of them.
type Listed struct {
	Messages int             `json:"messages"`
	Prompt   string          `json:"first_prompt,omitempty"`
	Run      string          `json:"run,omitempty"` // session.Meta.Run; "" leaves it
	Patch    json.RawMessage `json:"meta"`          // a session.MetaPatch
}
