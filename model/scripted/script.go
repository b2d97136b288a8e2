package scripted

import (
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// scriptFile is what a model says, step by step. The package doc shows its YAML form.
type scriptFile struct {
	Name      string       `yaml:"name"`       // of the model; default "play"
	Context   int          `yaml:"context"`    // tokens; 0 when unbounded
	MaxOutput int          `yaml:"max_output"` // tokens; 0 when unknown
	Price     *model.Price `yaml:"price"`
	Chunk     int          `yaml:"chunk"` // characters in a delta; 0 for all at once
	Delay     playDelay    `yaml:"delay"`
	Steps     []scriptStep `yaml:"steps"`
}

// playDelay says how long a step takes.
type playDelay struct {
	Before time.Duration `yaml:"before"` // the first delta
	Chunk  time.Duration `yaml:"chunk"`  // each further one
}

// scriptStep is one answer.
type scriptStep struct {
	Name   string     `yaml:"name"`   // unique, or empty
	When   *stepMatch `yaml:"when"`   // plays the step whenever it fits
	Expect *stepMatch `yaml:"expect"` // must fit, or the request is refused

	Thinking string            `yaml:"thinking"`
	Text     string            `yaml:"text"` // {{last_result}} stands for the newest tool result's text
	ToolUses []playToolUse     `yaml:"tool_uses"`
	Finish   transcript.Finish `yaml:"finish"` // default: tool_use or stop
	Usage    *transcript.Usage `yaml:"usage"`  // default: a fourth of the bytes
	Error    *playFailure      `yaml:"error"`

	Chunk int        `yaml:"chunk"` // 0: the play's
	Delay *playDelay `yaml:"delay"` // nil: the play's
}

// playToolUse is a tool use of a [scriptStep].
type playToolUse struct {
	ID       string `yaml:"id"` // default: made from the request
	Tool     string `yaml:"tool"`
	Input    any    `yaml:"input"`     // becomes JSON; nil is {}
	RawInput string `yaml:"raw_input"` // instead: what the model writes, JSON or not
}

// playFailure makes a step fail.
type playFailure struct {
	Kind        string        `yaml:"kind"` // a [model.ErrorKind], or invalid, malformed for short
	Message     string        `yaml:"message"`
	Status      int           `yaml:"status"` // default: what fits the kind
	RetryAfter  time.Duration `yaml:"retry_after"`
	AfterChunks int           `yaml:"after_chunks"` // deltas that arrive first
	Times       int           `yaml:"times"`        // 0 for always
}

// stepMatch is a condition on what came since the newest answer. All fields that
// are set must hold; a Match needs at least one.
type stepMatch struct {
	Any           bool   `yaml:"any"`
	User          string `yaml:"user"`         // the last user item's text contains it
	UserMatches   string `yaml:"user_matches"` // and matches this regular expression
	Notification  string `yaml:"told"`         // a notification that came contains it
	ToldMatches   string `yaml:"told_matches"` // and they match this regular expression, one a line
	Tool          string `yaml:"tool"`         // one result is this tool's
	Result        string `yaml:"result"`       // and its text contains it
	ResultMatches string `yaml:"result_matches"`
	IsError       *bool  `yaml:"is_error"`
	System        string `yaml:"system"`    // the system prompt contains it
	After         string `yaml:"after"`     // the newest answer's step
	MinItems      int    `yaml:"min_items"` // of the whole request
	MaxItems      int    `yaml:"max_items"`
}
