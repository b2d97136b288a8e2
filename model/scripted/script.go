package scripted

import (
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// scriptFile describes a model's answers, step by step. The package doc shows its YAML form.
type scriptFile struct {
	Name      string       `yaml:"name"`       // of the model; default "play"
	Context   int          `yaml:"context"`    // tokens; 0 means no limit
	MaxOutput int          `yaml:"max_output"` // tokens; 0 means unknown
	Price     *model.Price `yaml:"price"`
	Chunk     int          `yaml:"chunk"` // number of characters in a delta; 0 means all at once
	Delay     scriptDelay  `yaml:"delay"`
	Steps     []scriptStep `yaml:"steps"`
}

// scriptDelay is the duration of a step.
type scriptDelay struct {
	Before time.Duration `yaml:"before"` // before the first delta
	Chunk  time.Duration `yaml:"chunk"`  // before each further one
}

// scriptStep is one answer.
type scriptStep struct {
	Name   string     `yaml:"name"`   // unique, or empty
	When   *stepMatch `yaml:"when"`   // the step is used whenever it matches
	Expect *stepMatch `yaml:"expect"` // must match, or the request is rejected

	Thinking string            `yaml:"thinking"`
	Text     string            `yaml:"text"` // {{last_result}} is replaced by the text of the newest tool result
	ToolUses []scriptToolUse   `yaml:"tool_uses"`
	Finish   transcript.Finish `yaml:"finish"` // default: tool_use or stop
	Usage    *transcript.Usage `yaml:"usage"`  // default: a fourth of the bytes
	Error    *scriptFailure    `yaml:"error"`

	Chunk int          `yaml:"chunk"` // 0: the script's
	Delay *scriptDelay `yaml:"delay"` // nil: the script's
}

// scriptToolUse is a tool use of a [scriptStep].
type scriptToolUse struct {
	ID       string `yaml:"id"` // default: derived from the request
	Tool     string `yaml:"tool"`
	Input    any    `yaml:"input"`     // converted to JSON; nil is {}
	RawInput string `yaml:"raw_input"` // instead: the model's text, JSON or not
}

// scriptFailure makes a step fail.
type scriptFailure struct {
	Kind        string        `yaml:"kind"` // a [model.ErrorKind], or the short forms invalid and malformed
	Message     string        `yaml:"message"`
	Status      int           `yaml:"status"` // default: a text for the kind
	RetryAfter  time.Duration `yaml:"retry_after"`
	AfterChunks int           `yaml:"after_chunks"` // deltas before the failure
	Times       int           `yaml:"times"`        // 0 means always
}

// stepMatch is a condition on the items after the newest answer. All fields that are set must match; at
// least one is required.
type stepMatch struct {
	Any                 bool   `yaml:"any"`
	User                string `yaml:"user"`         // the last user item's text contains it
	UserMatches         string `yaml:"user_matches"` // and matches this regular expression
	Notification        string `yaml:"told"`         // a new notification contains it
	NotificationMatches string `yaml:"told_matches"` // the notifications match this regular expression, one per line
	Tool                string `yaml:"tool"`         // one of the results is from this tool
	Result              string `yaml:"result"`       // and its text contains it
	ResultMatches       string `yaml:"result_matches"`
	IsError             *bool  `yaml:"is_error"`
	System              string `yaml:"system"`    // the system prompt contains it
	After               string `yaml:"after"`     // the newest answer's step
	MinItems            int    `yaml:"min_items"` // of the whole request
	MaxItems            int    `yaml:"max_items"`
}
