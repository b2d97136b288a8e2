package wire

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Raw is JSON that is passed on as it is.
type Raw = json.RawMessage

// What a [RunEvent] tells.
const (
	RunStarted       = "started"   // and continued: Segment tells
	RunDescribed     = "described" // the spec of a run that no daemon runs
	RunStepStarted   = "step_started"
	RunStepCompleted = "step_completed"
	RunStepFailed    = "step_failed"
	RunOpened        = "opened"  // an agent's session, in which something was found
	RunRelayed       = "relayed" // records of an agent that has a session of its own
	RunInputAsked    = "input_asked"
	RunInputGiven    = "input_given"
	RunSteered       = "steered"
	RunPolicy        = "policy_updated" // the chains after a change
	RunCompleted     = "completed"
	RunFailed        = "failed"
	RunCancelled     = "cancelled"
	RunInterrupted   = "interrupted"
)

// RunEvent is the payload of a run.event record ([record.KindRunEvent]).
type RunEvent struct {
	Event   string        `json:"event"`
	Status  api.RunStatus `json:"status,omitempty"`  // the run's from here on
	Segment int           `json:"segment,omitempty"` // 1 is the first start, each continuation adds one

	By        string `json:"by,omitempty"`         // who asked for it
	Via       string `json:"via,omitempty"`        // websocket, http, console, cli
	RequestID string `json:"request_id,omitempty"` // of the message that asked for it

	// of started, and without Flow and Source of what ends a run
	Strategy  *StrategyInfo `json:"strategy,omitempty"`
	Spec      *runspec.Spec `json:"spec,omitempty"`       // of started and described: the run as it was asked for, without prompt and strategy
	StartedAt *time.Time    `json:"started_at,omitempty"` // of what ends a run
	Resumed   bool          `json:"resumed,omitempty"`    // the segment that was interrupted goes on

	Step     string `json:"step,omitempty"` // where in the flow: "1.r2.writer"; unique in a segment
	StepName string `json:"step_name,omitempty"`
	Agent    string `json:"agent,omitempty"`    // of steps, input, opened, relayed
	Session  string `json:"session,omitempty"`  // of relayed: whose records; of opened, step_started: of the agent
	From     int64  `json:"from,omitempty"`     // the first of them
	To       int64  `json:"to,omitempty"`       // the last of them
	Input    string `json:"input,omitempty"`    // of started and step_started
	InputID  string `json:"input_id,omitempty"` // of input_asked and input_given
	Text     string `json:"text,omitempty"`     // prompt, given input, steering, or a result

	Notices []string `json:"notices,omitempty"` // of opened: what was found, and repaired

	// Events in the form of package event, of a run whose one agent works in its session. A Result
	// whose text is Text leaves it out.
	Opened Raw `json:"opened,omitempty"` // of started: its event.SessionOpened
	Result Raw `json:"result,omitempty"` // of what ends a run: its last event.Result

	Usage  *transcript.Usage `json:"usage,omitempty"`
	Cost   float64           `json:"cost_usd,omitempty"`
	Finish string            `json:"finish,omitempty"` // of step_completed: event.Reason

	Code    Code           `json:"code,omitempty"`    // of failed, cancelled, interrupted
	Message string         `json:"message,omitempty"` // what was wrong
	Chains  []policy.Chain `json:"chains,omitempty"`  // of policy_updated

	// Changes of the policy that are for agents which have not worked yet: of started
	// all there are, of policy_updated one more.
	Changes []policy.Change `json:"changes,omitempty"`
}

// StrategyInfo describes what a run runs, for strategy_started and for going on with it.
type StrategyInfo struct {
	Name      string   `json:"name"`
	Path      string   `json:"path,omitempty"`
	Agents    []string `json:"agents"`
	SoleAgent string   `json:"sole,omitempty"` // the agent that works in the run's session; "": each has its own
	Flow      Raw      `json:"flow"`           // the flow tree as the strategy has it
	// Source is the strategy itself: a run goes on with what it was started with.
	Source Raw    `json:"source,omitempty"`
	Cwd    string `json:"cwd,omitempty"`
	// Workspace is the slug of the workspace that it runs in.
	Workspace string `json:"workspace,omitempty"`
	Model     string `json:"model,omitempty"` // override
	Mode      string `json:"mode,omitempty"`
	// MaxBudgetUSD is the bound that was asked for: 0 leaves it, less than 0 lifts it.
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty"`
}

// Problem is what went wrong, in error and strategy_error.
type Problem struct {
	Code    Code   `json:"code" jsonschema:"for programs"`
	Message string `json:"message" jsonschema:"for people"`
}
