package event

import (
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Event is one thing that happened in a run. The types of this package are all there are.
type Event interface {
	// Type returns the name of the event's type in JSON, such as "text_delta".
	Type() string
}

// LogEvent is an event of a run, and where it stands in the run's log.
type LogEvent struct {
	// Seq is the number of the record that the event is told by; of an event on no record (a
	// delta, for example) that of the last record before it. Who reads a run again continues
	// behind it.
	Seq int64
	Event
}

// Provisional reports whether an event is on no record of its agent. Deltas are void when
// [ModelRetrying] follows, and are replaced by the item that follows otherwise.
func Provisional(e Event) bool {
	switch e := e.(type) {
	case TurnStarted, ItemAppended, DecisionMade, ApprovalAsked, ApprovalResolved, PolicyChanged, ToolStarted, ToolFinished,
		HookRan, TurnFinished:
		return false
	case SubagentEvent:
		return e.Event == nil || Provisional(e.Event)
	}
	return true
}

// SessionOpened is the first event of a run.
type SessionOpened struct {
	ID       string            `json:"id"`
	Created  bool              `json:"created,omitempty"`
	Forked   string            `json:"forked,omitempty"` // the id of the session that was forked
	Items    int               `json:"items,omitempty"`  // how many were restored
	Tools    []string          `json:"tools,omitempty"`  // that the model may call now; ToolsChanged replaces them
	Notices  []string          `json:"notices,omitempty"`
	Recovery *session.Recovery `json:"recovery,omitempty"`
	// Caller is the session whose tool use Use started this agent, and Name the agent's
	// name; "" for an agent that no other started.
	Caller string `json:"caller,omitempty"`
	Use    string `json:"use_id,omitempty"`
	Name   string `json:"name,omitempty"`
}

// TurnStarted opens a turn.
type TurnStarted struct {
	Turn string `json:"turn"`
}

// The deltas of an answer that is still coming, as the model's adapter yields them, and what
// it wants to say to a person.
type (
	TextDelta      = model.TextDelta
	ThinkingDelta  = model.ThinkingDelta
	ToolInputDelta = model.ToolInputDelta
	Notice         = model.Notice
)

// ItemAppended reports a new item of the transcript. Seq is the number of its record, or 0
// without a store.
type ItemAppended struct {
	Seq  int64              `json:"seq,omitempty"`
	Item transcript.Encoded `json:"-"` // "item"
}

// DecisionMade explains what was decided about a tool call.
type DecisionMade struct {
	Decision policy.Decision `json:"decision"`
}

// ApprovalAsked reports that a person is asked about a tool call.
type ApprovalAsked struct {
	Request approval.Request `json:"question"`
}

// ApprovalResolved reports how the question with this ID was answered. Answer.By and
// Answer.Via say by whom. The first of several answers counts; Late is an answer of this
// program that came too late, or nil.
type ApprovalResolved struct {
	ID         string           `json:"id"`
	Answer     approval.Answer  `json:"answer"`
	LateAnswer *approval.Answer `json:"late,omitempty"`
}

// PolicyChanged reports a change that is in force from the next decision on.
type PolicyChanged struct {
	Change policy.Change `json:"change"`
}

// ToolStarted follows when the start of a tool call is on disk, and ToolFinished when its result is.
// A call of which the model has a result before it has finished goes on in the background: the
// result ([ItemAppended]) says so, and ToolFinished follows when the call has ended.
type (
	// ToolStarted has the fields Use and Tool (strings), and Input (a json.RawMessage), which is
	// what the tool runs with: a policy or a person may have changed what the model wrote.
	ToolStarted = record.ToolStarted
	// ToolFinished has the fields Use and Tool, those of a [tool.Result], Millis (how long it
	// took, also as Took), and Outcome: "unknown" of a call that was running when its program
	// stopped, and otherwise "".
	ToolFinished = record.ToolFinished
)

// SubagentEvent is an event of a sub-agent that the call Use started. Deltas of sub-agents
// are not reported.
type SubagentEvent struct {
	Use     string `json:"use_id"`
	Session string `json:"session"` // the sub-agent's
	Name    string `json:"name,omitempty"`
	Event   Event  `json:"-"` // "event"
}

// ToolsChanged reports that the next request will offer other tools.
type ToolsChanged struct {
	Tools []string `json:"tools"`
}

// CompactionStarted reports that a transcript is being compacted, which may take a model call.
// [TranscriptRewritten] follows, or nothing when the transcript stays as it was.
type CompactionStarted struct {
	Trigger string `json:"trigger,omitempty"` // "auto" or "manual"
}

// TranscriptRewritten reports that a mutator rewrote the transcript, or, right after
// [SessionOpened], that the transcript was repaired or cut when the session was restored. A
// host with a store of its own replaces what it has with the agent's snapshot.
type TranscriptRewritten struct {
	Mutator string `json:"by"`
	When    string `json:"moment,omitempty"` // "at_start" (of a repair), "after_tool_result" or "after_turn_ended"
	Before  int    `json:"before"`           // items
	After   int    `json:"after"`

	// Of a compaction:
	Trigger      string `json:"trigger,omitempty"`       // "auto" or "manual"
	TokensBefore int    `json:"tokens_before,omitempty"` // estimated
	TokensAfter  int    `json:"tokens_after,omitempty"`
}

// UsageUpdated follows every model call of the agent itself. Total and CostUSD cover the
// work that the turn is a part of, including its sub-agents.
type UsageUpdated struct {
	Model   string           `json:"model,omitempty"`
	Usage   transcript.Usage `json:"usage"`
	Total   transcript.Usage `json:"total"`
	CostUSD float64          `json:"cost_usd,omitempty"`
	CallUSD float64          `json:"call_usd,omitempty"` // of the call
	// Purpose is what a call was made for that is no answer of the agent and has no
	// [ModelStarted]: "mutator" (a summary, for example) or "aside" (a tool's question).
	// Provider and Took are set for such a call, which may have ended a while ago.
	Purpose  string        `json:"for,omitempty"`
	Provider string        `json:"provider,omitempty"`
	Duration time.Duration `json:"-"` // "took_ms"
}

// ModelRetrying reports that a model call failed and will be repeated. Deltas since the last item
// are void.
type ModelRetrying struct {
	Err     error         `json:"-"` // "error"
	Attempt int           `json:"attempt"`
	Delay   time.Duration `json:"-"` // "delay_ms"
}

// ModelSwitched reports that the fallback model takes over for this turn.
type ModelSwitched struct {
	From string `json:"from"`
	To   string `json:"to"`
	Err  error  `json:"-"` // "error"
}

// HookRan reports that hooks ran, and what they say to the person.
type HookRan struct {
	Ran record.HookRan `json:"ran"`
}

// TerminalSequences reports what hooks want sent to the person's terminal: titles,
// notifications or the bell, and nothing else.
type TerminalSequences struct {
	Sequences []string `json:"sequences"`
}

// Notification is a notification from a hook, or that somebody is asked.
type Notification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Level string `json:"level,omitempty"` // info, warning, error
	By    string `json:"by,omitempty"`    // the hook, or ""
}

// ModelStarted comes before each attempt of a model call.
type ModelStarted struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Attempt  int    `json:"attempt,omitempty"` // 0 for the first
}

// ModelFinished comes after it, with Err or with what the answer cost.
type ModelFinished struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Usage    *transcript.Usage `json:"usage,omitempty"`
	Finish   transcript.Finish `json:"finish,omitempty"`
	Duration time.Duration     `json:"-"` // "took_ms"
	Err      error             `json:"-"` // "error"
}

// TurnFinished closes a turn.
type TurnFinished struct {
	Turn   string `json:"turn"`
	Reason Reason `json:"reason"`
	Err    error  `json:"-"` // "error"
}

// Result is the last event of a run.
type Result struct {
	SessionID string           `json:"id"`
	Turn      string           `json:"turn,omitempty"`
	Reason    Reason           `json:"reason"`
	Text      string           `json:"text,omitempty"`  // of the assistant's items of this run
	Err       error            `json:"-"`               // "error"; when Reason is failed or hook
	Turns     int              `json:"turns,omitempty"` // model calls
	Usage     transcript.Usage `json:"usage"`
	CostUSD   float64          `json:"cost_usd,omitempty"`
	// RunCostUSD is what the whole run has cost, including earlier turns and processes, and
	// BudgetUSD is its bound; 0 is none.
	RunCostUSD    float64               `json:"run_cost_usd,omitempty"`
	BudgetUSD     float64               `json:"budget_usd,omitempty"`
	ByModel       map[string]ModelUsage `json:"by_model,omitempty"`
	Denials       []policy.Decision     `json:"denials,omitempty"` // tool calls that were not allowed
	Duration      time.Duration         `json:"-"`                 // "took_ms"
	ModelDuration time.Duration         `json:"-"`                 // "took_model_ms": of it, waiting for models
	Finish        transcript.Finish     `json:"finish,omitempty"`
}

// ModelUsage is one model's share of a run.
type ModelUsage struct {
	Usage   transcript.Usage `json:"usage"`
	CostUSD float64          `json:"cost_usd,omitempty"`
	Calls   int              `json:"calls"`
}

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
	ReasonHook        Reason = "hook"     // a hook blocked the prompt or ended the turn; Result.Err is an *[Error] with HookEvent
	ReasonDeferred    Reason = "deferred" // a hook put a call off: the session waits to be resumed
)

func (SessionOpened) Type() string       { return "session_opened" }
func (TurnStarted) Type() string         { return "turn_started" }
func (ItemAppended) Type() string        { return "item_appended" }
func (DecisionMade) Type() string        { return "decided" }
func (ApprovalAsked) Type() string       { return "approval_asked" }
func (ApprovalResolved) Type() string    { return "approval_resolved" }
func (PolicyChanged) Type() string       { return "policy_changed" }
func (SubagentEvent) Type() string       { return "subagent" }
func (ToolsChanged) Type() string        { return "tools_changed" }
func (CompactionStarted) Type() string   { return "compacting" }
func (TranscriptRewritten) Type() string { return "mutation_finished" }
func (UsageUpdated) Type() string        { return "usage_updated" }
func (ModelRetrying) Type() string       { return "retrying" }
func (ModelSwitched) Type() string       { return "model_switched" }
func (HookRan) Type() string             { return "hook_ran" }
func (TerminalSequences) Type() string   { return "terminal_sequences" }
func (Notification) Type() string        { return "notified" }
func (ModelStarted) Type() string        { return "model_started" }
func (ModelFinished) Type() string       { return "model_finished" }
func (TurnFinished) Type() string        { return "turn_finished" }
func (Result) Type() string              { return "result" }
