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

// Event is one thing that happened in a run. This package defines all types of events.
type Event interface {
	// Type returns the name of the event's type in JSON, such as "text_delta".
	Type() string
}

// LogEvent is an event with its position in the log of the run.
type LogEvent struct {
	// Seq is the number of the event's record. A provisional event, such as a delta, has the
	// number of the last record before it. To replay a run from here, read the records after this
	// number.
	Seq int64
	Event
}

// Provisional reports whether the agent stores no record for the event. If [ModelRetrying] follows,
// the deltas are invalid; otherwise the next item replaces them.
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
	Forked   string            `json:"forked,omitempty"` // id of the session that this session was forked from
	Items    int               `json:"items,omitempty"`  // number of restored items
	Tools    []string          `json:"tools,omitempty"`  // the tools that the model may call now; ToolsChanged replaces them
	Notices  []string          `json:"notices,omitempty"`
	Recovery *session.Recovery `json:"recovery,omitempty"`
	// Caller is the session whose tool use Use started this agent, and Name is the agent's
	// name. They are "" for an agent that no other agent started.
	Caller string `json:"caller,omitempty"`
	Use    string `json:"use_id,omitempty"`
	Name   string `json:"name,omitempty"`
}

// TurnStarted reports the start of a turn.
type TurnStarted struct {
	Turn string `json:"turn"`
}

// The deltas of an answer, as the model's adapter yields them, and its notices for the user.
type (
	TextDelta      = model.TextDelta
	ThinkingDelta  = model.ThinkingDelta
	ToolInputDelta = model.ToolInputDelta
	Notice         = model.Notice
)

// ToolOutputDelta is a piece of the output of the running tool call Use, for people who watch it: at
// most about 20 per second for each call. If a call writes more than 64 KiB in between, only the
// last ones are reported. The result of the call replaces the pieces. Those of a background task, and
// of a sub-agent in a [SubagentEvent], are emitted when the agent does not wait for its model.
type ToolOutputDelta struct {
	Use  string `json:"use_id"`
	Text string `json:"text"`
}

// ItemAppended reports a new item of the transcript. Seq is the number of its record, or 0
// without a store.
type ItemAppended struct {
	Seq  int64              `json:"seq,omitempty"`
	Item transcript.Encoded `json:"-"` // "item"
}

// DecisionMade reports the decision about a tool call, with its reasons.
type DecisionMade struct {
	Decision policy.Decision `json:"decision"`
}

// ApprovalAsked reports that a tool call waits for approval.
type ApprovalAsked struct {
	Request approval.Request `json:"question"`
}

// ApprovalResolved reports the answer to the approval request with this ID. Answer.Actor is the
// user or program that answered, and Answer.Via is the channel of the answer. The first answer
// wins. LateAnswer is an answer of this program that came after another answer, or nil.
type ApprovalResolved struct {
	ID         string           `json:"id"`
	Answer     approval.Answer  `json:"answer"`
	LateAnswer *approval.Answer `json:"late,omitempty"`
}

// PolicyChanged reports a policy change that applies from the next decision on.
type PolicyChanged struct {
	Change policy.Change `json:"change"`
}

// ToolStarted is emitted when the start of a tool call is stored, and ToolFinished is emitted when
// its result is stored. For a background task, the result for the model ([ItemAppended]) is emitted
// first, and ToolFinished when the task ends.
type (
	// ToolStarted has the fields Use and Tool (strings), and Input (a json.RawMessage), which is
	// the input the tool runs with. A policy or the approver may have changed the model's input.
	ToolStarted = record.ToolStarted
	// ToolFinished has the fields Use and Tool, those of a [tool.Result], Millis (how long it
	// took, also as Took), and Outcome: "unknown" if the program stopped while the call was
	// running, otherwise "".
	ToolFinished = record.ToolFinished
)

// SubagentEvent is an event of a sub-agent that the call Use started. Deltas of a sub-agent's
// answers are not reported.
type SubagentEvent struct {
	Use     string `json:"use_id"`
	Session string `json:"session"` // the sub-agent's
	Name    string `json:"name,omitempty"`
	Event   Event  `json:"-"` // "event"
}

// ToolsChanged reports that the next model request offers other tools.
type ToolsChanged struct {
	Tools []string `json:"tools"`
}

// CompactionStarted reports that a compaction begins, which may need a model call.
// [TranscriptRewritten] follows if the transcript changes.
type CompactionStarted struct {
	Trigger string `json:"trigger,omitempty"` // "auto" or "manual"
}

// TranscriptRewritten reports that a mutator rewrote the transcript or, right after
// [SessionOpened], that the transcript was repaired or truncated when the session was restored. A
// host that stores the transcript itself must replace it with the agent's snapshot.
type TranscriptRewritten struct {
	Mutator string `json:"by"`
	When    string `json:"moment,omitempty"` // "at_start" (a repair), "after_tool_result" or "after_turn_ended"
	Before  int    `json:"before"`           // items
	After   int    `json:"after"`

	// Set only for a compaction:
	Trigger      string `json:"trigger,omitempty"`       // "auto" or "manual"
	TokensBefore int    `json:"tokens_before,omitempty"` // estimated
	TokensAfter  int    `json:"tokens_after,omitempty"`
}

// UsageUpdated follows every model call of the agent itself, but not the model calls of its
// sub-agents. Total and CostUSD cover the turn, or the whole Work call that it belongs to,
// including sub-agents.
type UsageUpdated struct {
	Model   string           `json:"model,omitempty"`
	Usage   transcript.Usage `json:"usage"`
	Total   transcript.Usage `json:"total"`
	CostUSD float64          `json:"cost_usd,omitempty"`
	CallUSD float64          `json:"call_usd,omitempty"` // cost of this call
	// Purpose is set for a call that does not produce an answer of the agent and has no
	// [ModelStarted]: "mutator" (for example, a summary) or "aside" (a call on behalf of a tool).
	// Provider and Duration are set only for such a call, which may have ended some time ago.
	Purpose  string        `json:"for,omitempty"`
	Provider string        `json:"provider,omitempty"`
	Duration time.Duration `json:"-"` // "took_ms"
}

// ModelRetrying reports that a model call failed and will be retried. The deltas since the last
// item are invalid.
type ModelRetrying struct {
	Err     error         `json:"-"` // "error"
	Attempt int           `json:"attempt"`
	Delay   time.Duration `json:"-"` // "delay_ms"
}

// ModelSwitched reports that the fallback model answers for the rest of this turn.
type ModelSwitched struct {
	From string `json:"from"`
	To   string `json:"to"`
	Err  error  `json:"-"` // "error"
}

// HookRan reports that hooks ran, with their messages for the user.
type HookRan struct {
	Ran record.HookRan `json:"ran"`
}

// TerminalSequences are the escape sequences that hooks send to the user's terminal. Only titles,
// notifications and the bell are allowed.
type TerminalSequences struct {
	Sequences []string `json:"sequences"`
}

// Notification is a notification for the user, from a hook or because approval is needed.
type Notification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Level string `json:"level,omitempty"` // info, warning, error
	By    string `json:"by,omitempty"`    // the hook, or ""
}

// ModelStarted is emitted before each attempt of a model call.
type ModelStarted struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Attempt  int    `json:"attempt,omitempty"` // 0 for the first
}

// ModelFinished is emitted after each attempt of a model call, with Err or with the usage.
type ModelFinished struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Usage    *transcript.Usage `json:"usage,omitempty"`
	Finish   transcript.Finish `json:"finish,omitempty"`
	Duration time.Duration     `json:"-"` // "took_ms"
	Err      error             `json:"-"` // "error"
}

// TurnFinished reports the end of a turn.
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
	Text      string           `json:"text,omitempty"`  // the text of the assistant's items of this run
	Err       error            `json:"-"`               // "error"; set if Reason is failed or hook
	Turns     int              `json:"turns,omitempty"` // model calls
	Usage     transcript.Usage `json:"usage"`
	CostUSD   float64          `json:"cost_usd,omitempty"`
	// RunCostUSD is the cost of the whole run so far, including earlier turns and processes.
	// BudgetUSD is its budget; 0 means no budget.
	RunCostUSD    float64               `json:"run_cost_usd,omitempty"`
	BudgetUSD     float64               `json:"budget_usd,omitempty"`
	ByModel       map[string]ModelUsage `json:"by_model,omitempty"`
	Denials       []policy.Decision     `json:"denials,omitempty"` // tool calls that were denied
	Duration      time.Duration         `json:"-"`                 // "took_ms"
	ModelDuration time.Duration         `json:"-"`                 // "took_model_ms": the part of Duration spent waiting for models
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
	ReasonRefused     Reason = "refused" // the provider refused the request
	ReasonFailed      Reason = "failed"
	ReasonHook        Reason = "hook"     // a hook blocked the prompt or ended the turn; Result.Err is an *[Error] with HookEvent
	ReasonDeferred    Reason = "deferred" // a hook deferred a tool call; resume the session to continue
)

func (SessionOpened) Type() string       { return "session_opened" }
func (TurnStarted) Type() string         { return "turn_started" }
func (ToolOutputDelta) Type() string     { return "tool_output_delta" }
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
