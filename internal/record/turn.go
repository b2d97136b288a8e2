// Package record has the payloads of a session's records that only this project writes
// and reads: turns, tool calls, hooks, saved files, what a sealed store keeps. Their JSON
// form is in docs/formats. Payloads that a program outside needs are in package session.
package record

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// TurnOpened is the payload of a record of [KindTurnOpened]. Turn ids are never reused in a session.
type TurnOpened struct {
	Turn string `json:"turn"`
	// Cwd is the current directory that it begins in, when something has changed it.
	Cwd string `json:"cwd,omitempty"`
	// Budget bounds the run from here on, in place of what it was; nil leaves that.
	Budget *Budget `json:"budget,omitempty"`
}

// Budget bounds what a run may use: the session and all that works for it. 0 is no bound.
type Budget struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// TurnClosed is the payload of a record of [KindTurnClosed].
type TurnClosed struct {
	Turn   string `json:"turn"`
	Reason string `json:"reason"`          // completed, max_turns, budget, interrupted, failed
	Error  string `json:"error,omitempty"` // when failed
	// Cost is everything since the turn before was closed: what items and model.called
	// records tell, too. In logs of versions that do not write those it alone counts.
	Cost float64 `json:"cost_usd,omitempty"`
}

// PolicyChanged is what package session reads of the payload of a record of [KindPolicyChanged];
// package policy has the rest of it.
type PolicyChanged struct {
	Mode string `json:"mode,omitempty"`
	By   string `json:"by,omitempty"`
	// Ended takes away what was granted before: earlier versions wrote it when an agent was closed.
	Ended bool `json:"ended,omitempty"`
	// Limit is of a turn.
	Limit json.RawMessage `json:"limit,omitempty"`
}

// ModelCalled is the payload of a record of [KindModelCalled]: a model call of the run that no
// item of this log is the answer of.
type ModelCalled struct {
	Model string           `json:"model,omitempty"`
	Usage transcript.Usage `json:"usage"`
	Cost  float64          `json:"cost_usd,omitempty"`
	// Purpose is what it was made for: agent (the answer of another agent of the run), attempt
	// (it failed), aside (a tool's), or mutator.
	Purpose string `json:"for"`
	// Session is that of the agent which made it, where it is another than this.
	Session string `json:"session,omitempty"`
	// Estimated: it was cut off before the provider said what it used.
	Estimated bool `json:"estimated,omitempty"`
}
