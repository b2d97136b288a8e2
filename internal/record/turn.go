// Package record defines the payloads of internal record kinds: turns, tool calls, hooks, saved files,
// sealed payloads. docs/formats describes their JSON form.
//
//	session.Record{Kind, Payload} ─► json.Unmarshal(Payload, &record.TurnOpened{}) for record.KindTurnOpened
//	record.ToolFinished ─► session.NewDraft(record.KindToolFinished, f) ─► Log.Append
//
// Payloads that other programs need are in package session. The package does no I/O.
package record

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// TurnOpened is the payload of a [KindTurnOpened] record. Turn ids are never reused in a session.
type TurnOpened struct {
	Turn string `json:"turn"`
	// Cwd is the current directory at the start of the turn, if it differs from the session's folder.
	Cwd string `json:"cwd,omitempty"`
	// Budget is the new budget of the run; nil keeps the current one.
	Budget *Budget `json:"budget,omitempty"`
}

// Budget limits the usage of a run: of the session and its sub-agents. 0 means no limit.
type Budget struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// TurnClosed is the payload of a [KindTurnClosed] record.
type TurnClosed struct {
	Turn   string `json:"turn"`
	Reason string `json:"reason"`          // completed, max_turns, budget, interrupted, refused, failed or hook
	Error  string `json:"error,omitempty"` // the cause, if Reason is failed, refused or hook
	// Cost is the cost since the previous turn was closed. The cost includes the costs in items and
	// model.called records. In logs of versions that recorded no such costs, it is the only cost.
	Cost float64 `json:"cost_usd,omitempty"`
}

// PolicyChanged contains those fields of a [KindPolicyChanged] payload that package session reads.
// Package policy reads the other fields.
type PolicyChanged struct {
	Mode string `json:"mode,omitempty"`
	By   string `json:"by,omitempty"`
	// Ended revokes all earlier changes. Earlier versions set it when an agent was closed.
	Ended bool `json:"ended,omitempty"`
	// Limit is the limit of a turn.
	Limit json.RawMessage `json:"limit,omitempty"`
}

// ModelCalled is the payload of a [KindModelCalled] record: a model call of the run whose answer is not
// an item of this log.
type ModelCalled struct {
	Model string           `json:"model,omitempty"`
	Usage transcript.Usage `json:"usage"`
	Cost  float64          `json:"cost_usd,omitempty"`
	// Purpose is the reason for the call: agent (the answer of another agent of the run), attempt
	// (a failed call), aside (a call on behalf of a tool), or mutator.
	Purpose string `json:"for"`
	// Session is the session of the agent that made the call, if it is not the session of this log.
	Session string `json:"session,omitempty"`
	// Estimated means that the call was cut off before the provider reported its usage.
	Estimated bool `json:"estimated,omitempty"`
}
