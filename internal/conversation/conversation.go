// Package conversation turns the events of a session into what a user sees of it: finished blocks,
// which never change, and a state, which changes until the next event.
//
//	daemon/client.Event ──Apply──► Conversation ─┬─► []Update: finished blocks and pieces of the answer
//	                                             └─► State: running calls, questions, queue, agents, usage
//
//	c := conversation.New(&conversation.Options{Cwd: dir})
//	for e, err := range client.Events(ctx, id, after) {
//		for _, u := range c.Apply(e) { … }
//		draw(c.State())
//	}
//
// The package does no I/O, draws nothing and escapes nothing: all its texts are untrusted.
package conversation

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Kind is the kind of a block.
type Kind int

// The kinds of blocks.
const (
	User     Kind = iota // a message of the user; Text
	Answer               // a message of the model; Text is Markdown
	Thinking             // thinking of the model; Text
	Called               // a tool call that has ended or continues in the background; Call
	Note                 // a notice, such as a retry, a compaction or another mode; Text
	Answered             // an approval request with its answer; Request, Reply
	Ended                // the end of a turn; Result
)

// Block is a finished part of the conversation.
type Block struct {
	Kind    Kind
	Seq     int64  // of its record; 0 if there is none
	Item    string // the id of the item for User and Answer; rewind and fork take it
	Agent   string // the name of the agent; "" for the session's own agent
	By      string // who sent the message (User) or stopped the run (Ended), with the channel: "ann (http)"
	Text    string
	Warning bool // of a Note: something went wrong
	Call    *Call
	Request *approval.Request
	Reply   *approval.Answer
	Result  *event.Result // without its Text
}

// Call is a tool call.
type Call struct {
	Use, Tool  string
	Agent      string // as in Block
	Input      json.RawMessage
	Started    time.Time
	Output     string // so far; at most the last 64 KiB while the call runs
	IsError    bool
	ExitCode   *int   // of a command; nil if it is not known
	Denied     string // why the call was denied, or did not run; "" if it ran
	Unknown    bool   // the program stopped while the call ran
	Took       time.Duration
	Diff       string   // unified diff of a call that changed a file; without headers and hunks if the lines' numbers are not known
	Notes      []string // for the user, such as what the sandbox refused
	Background bool     // it continues after its result
	Running    bool     // in a block: the call continues in the background, and its end is another block
}

// NotRun is why a call did not run that no one denied.
const NotRun = "the turn ended before the call ran"

// Question is an open approval request.
type Question struct {
	approval.Request
	Asked time.Time // when this program saw it
}

// Queued is a message of the user that the model has not seen yet.
type Queued struct {
	ID   string // removes it, see daemon/client.Client.WithdrawSteering
	Text string
	By   string // who sent it
	raw  string // the text with the commands that the user ran
	// Images came with the text, which has labels of some of them: see [Queued.Shown].
	Images []transcript.Media
	// Delivered means that the agent has it, and the model's next request will: it cannot be withdrawn.
	Delivered bool
}

// Shown returns the text with a label for each image.
func (q Queued) Shown() string { return inputimage.WithLabels(q.Text, q.Images) }

// Agent is a sub-agent or a teammate.
type Agent struct {
	Session, Use, Name string
	Parent             string // the session of its caller
	Prompt             string
	Doing              string // its newest call or text, in a few words
	Calls              int    // how many tool calls it has made
	Tokens             int64
	CostUSD            float64
	Started            time.Time
	Took               time.Duration // when it has ended
	Ended              bool
	Failed             bool
	listed             bool // in the state
}

// Task is an entry of the model's task list.
type Task struct {
	Text   string // in progress: the active form if there is one
	Status string // pending, in_progress or completed
}

// Usage is what the conversation has used.
type Usage struct {
	Context   int   // tokens of the last request and its answer: what fills the context window
	Window    int   // the size of the context window in tokens; 0 if it is not known
	Input     int64 // tokens of all requests
	Output    int64
	CostUSD   float64 // of the run
	BudgetUSD float64
}

// State is what changes. The caller must not change it.
type State struct {
	Session, Title string
	Model          string
	Mode           policy.Mode
	Working        bool
	Since          time.Time // when the turn started
	Doing          string    // such as "thinking"; "" while a call or a question says it
	Calls          []*Call   // that run now
	Questions      []Question
	Queue          []Queued
	Agents         []*Agent // in the order of their start; those that have ended stay until the next message starts a run
	Tasks          []Task
	Usage          Usage
	Seq            int64 // of the last record
	CaughtUp       bool  // all records were read
	Lost           error // why the connection to the daemon is lost; nil while it is there
	Deleted        bool
}

// Update is a change that is printed once.
type Update struct {
	Block *Block // finished, or nil
	// Delta is a new piece of the message that the model writes, of the kind Answer or Thinking.
	// The Block of the whole message follows with Streamed set, or Discard.
	Delta    string
	Kind     Kind
	Agent    string // as in Block
	Streamed bool   // the deltas of the block were all reported
	Discard  bool   // the deltas since the last block are void: the call is repeated
	// Rewound means that the blocks before this one with a Seq greater than After are void: the
	// session was rewound, or its transcript was cut. The Block is a Note that says so.
	Rewound bool
	After   int64
}
