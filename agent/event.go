package agent

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Event is one thing that happened. Deltas are provisional: they stream before
// their item is on disk and are void when [Retrying] follows. Everything else
// is told after it is durable.
type Event interface{ event() }

// SessionOpened is the first event of an agent.
type SessionOpened struct {
	ID       string
	Created  bool
	Forked   string   // the source's id
	Items    int      // restored
	Tools    []string // that the model may call now; SetTools changes them
	Notices  []string
	Recovery *session.Recovery
	// Caller is the session whose tool use Use works through this agent, and Name the
	// agent's; "" where nobody does.
	Caller, Use, Name string
}

// TurnStarted opens a turn.
type TurnStarted struct{ Turn string }

// TextDelta is a piece of an answer's text that is still coming.
type TextDelta struct{ Text string }

// ThinkingDelta is a piece of the model's thinking that is still coming.
type ThinkingDelta struct{ Text string }

// ToolInputDelta is a piece of the input of tool call Use that is still coming.
type ToolInputDelta struct{ Use, Tool, JSON string }

// ItemAppended tells of a new item of the transcript. Seq is its record's, or 0
// without a store.
type ItemAppended struct {
	Seq  int64
	Item transcript.Encoded
}

// Decided explains what was decided about a tool call.
type Decided struct{ Decision policy.Decision }

// ApprovalAsked tells that a person is asked about a tool call.
type ApprovalAsked struct{ Question approval.Question }

// ApprovalResolved tells how the question with this ID was answered, here or
// elsewhere: Answer.By and Answer.Via say by whom. Of several answers the first
// counts; Late is the one that was given here and came too late, or nil.
type ApprovalResolved struct {
	ID     string
	Answer approval.Answer
	Late   *approval.Answer
}

// PolicyChanged tells of a change that is in force from the next decision on, by
// this program or by another one. Chain is that of the tool it names, or what
// all tools have in common.
type PolicyChanged struct {
	Change policy.Change
	Chain  policy.Chain
}

// ToolStarted comes when the start of a tool call is on disk. Input is what it
// runs with, which a policy or a person may have changed.
type ToolStarted struct {
	Use, Tool string
	Input     json.RawMessage
}

// ToolFinished comes when the result of a tool call is on disk.
type ToolFinished struct {
	Use, Tool string
	Result    tool.Result
	Took      time.Duration
}

// ToolDetached comes when a call goes on in the background: its result, which the
// model reads at once, says so. [ToolFinished] follows when it has ended.
type ToolDetached struct{ Use, Tool string }

// SubagentEvent is something that happened to a sub-agent, which the call Use has
// started. Deltas are not passed on.
type SubagentEvent struct {
	Use     string
	Session string // the sub-agent's
	Name    string
	Event   Event
}

// ToolsChanged tells that the next request will offer other tools.
type ToolsChanged struct{ Tools []string }

// Compacting tells that a transcript is being compacted, which may take a model call.
// [MutationFinished] follows, or nothing when it stays as it was.
type Compacting struct {
	Trigger string // "auto" or "manual"
}

// MutationFinished tells that a mutator rewrote the transcript, or, right after
// [SessionOpened], that it was repaired or cut when the session was restored. A host with a
// store of its own replaces what it has by [Agent.Snapshot].
type MutationFinished struct {
	By     string
	Moment Moment
	Dirty  bool // always true: an unchanged transcript is not announced
	Before int  // items
	After  int

	Trigger                   string // of a compaction: "auto" or "manual"
	TokensBefore, TokensAfter int    // of a compaction, estimated
}

// UsageUpdated follows every model call of the agent itself; Total and CostUSD are of the
// work that the turn is a part of, that of sub-agents too.
type UsageUpdated struct {
	Model   string
	Usage   transcript.Usage
	Total   transcript.Usage
	CostUSD float64
	CallUSD float64 // of the call
	// For says what a call was made for that is no answer of the agent, and has no
	// [ModelStarted]: "mutator" (a summary, for example) or "aside" (a tool's question).
	// Provider and Took are told of such a call, which may have ended a while ago.
	For, Provider string
	Took          time.Duration
}

// Retrying tells that a model call failed and will be repeated. Deltas since
// the last item are void.
type Retrying struct {
	Err     error
	Attempt int // 1 for the first retry
	Delay   time.Duration
}

// ModelSwitched tells that the fallback model takes over for this turn.
type ModelSwitched struct {
	From, To string
	Err      error
}

// HookRan tells that hooks ran, and what they say to the person.
type HookRan struct {
	Ran     hook.Ran
	Notices []hook.Said
	// Terminal are sequences for a terminal, checked to be titles, notifications or the bell.
	Terminal []string
}

// Notified is a notification: of a hook, or that somebody is asked.
type Notified struct {
	Title, Body string
	Level       string // info, warning, error
	By          string // the hook, or ""
}

// ModelStarted comes before each attempt of a model call.
type ModelStarted struct {
	Provider, Model string
	Attempt         int // 0 for the first
}

// ModelFinished comes after it: with Err, or with what the answer cost.
type ModelFinished struct {
	Provider, Model string
	Usage           *transcript.Usage
	Finish          transcript.Finish
	Took            time.Duration
	Err             error
}

// Notice is something a person may want to know.
type Notice struct{ Text string }

// TurnFinished closes a turn.
type TurnFinished struct {
	Turn   string
	Reason Reason
	Err    error
}

func (SessionOpened) event()    {}
func (TurnStarted) event()      {}
func (TextDelta) event()        {}
func (ThinkingDelta) event()    {}
func (ToolInputDelta) event()   {}
func (ItemAppended) event()     {}
func (Decided) event()          {}
func (ApprovalAsked) event()    {}
func (ApprovalResolved) event() {}
func (PolicyChanged) event()    {}
func (ToolStarted) event()      {}
func (ToolFinished) event()     {}
func (ToolDetached) event()     {}
func (SubagentEvent) event()    {}
func (ToolsChanged) event()     {}
func (Compacting) event()       {}
func (MutationFinished) event() {}
func (UsageUpdated) event()     {}
func (Retrying) event()         {}
func (ModelSwitched) event()    {}
func (HookRan) event()          {}
func (Notified) event()         {}
func (ModelStarted) event()     {}
func (ModelFinished) event()    {}
func (Notice) event()           {}
func (TurnFinished) event()     {}
func (Result) event()           {}

// Reason is why a turn ended.
type Reason string

// The reasons.
const (
	ReasonCompleted   Reason = "completed"
	ReasonMaxTurns    Reason = "max_turns"
	ReasonBudget      Reason = "budget"
	ReasonInterrupted Reason = "interrupted"
	ReasonRefused     Reason = "refused" // by the provider
	ReasonFailed      Reason = "failed"
	ReasonHook        Reason = "hook"     // a hook blocked the prompt or ended the turn; Result.Err is a *HookError
	ReasonDeferred    Reason = "deferred" // a hook put a call off: the session waits to be resumed
)

// Result is the last event of a run and what [Agent.Prompt] returns.
type Result struct {
	SessionID string
	Turn      string
	Reason    Reason
	Text      string // of the assistant's items of this run
	Err       error  // when Reason is failed
	Turns     int    // model calls
	Usage     transcript.Usage
	CostUSD   float64
	// RunCostUSD is what the whole run has cost, earlier turns and processes too, and
	// BudgetUSD its bound; 0 is none.
	RunCostUSD, BudgetUSD float64
	ByModel               map[string]ModelUsage
	Denials               []policy.Decision // tool calls that were not allowed
	Took                  time.Duration
	TookModel             time.Duration // of it, waiting for models
	Finish                transcript.Finish
}

// ModelUsage is one model's share of a run.
type ModelUsage struct {
	Usage   transcript.Usage
	CostUSD float64
	Calls   int
}
