package wire

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Raw is JSON that is passed on unchanged.
type Raw = json.RawMessage

// The kinds of [RunEvent].
const (
	RunStarted       = "started"   // the run was started, or continued with a Segment greater than 1
	RunDescribed     = "described" // the spec of a run outside a daemon
	RunStepStarted   = "step_started"
	RunStepCompleted = "step_completed"
	RunStepFailed    = "step_failed"
	RunOpened        = "opened"  // an agent's session was opened; with notices about what was found in it
	RunRelayed       = "relayed" // records of an agent with a separate session
	RunInputAsked    = "input_asked"
	RunInputGiven    = "input_given"
	// A text from a user for a working agent. It waits until a steering_delivered or
	// steering_withdrawn event names its id, also when the run ends: the next segment gets it then.
	RunSteered           = "steered"
	RunSteeringDelivered = "steering_delivered" // an agent has the texts: its session has an item with all of them
	RunSteeringWithdrawn = "steering_withdrawn" // no agent gets the text: a client withdrew it, or a hook refused it (Message)
	RunSubagentSteered   = "subagent_steered"   // a user gave a text to the agent of Session only; it has the text
	RunSubagentStopped   = "subagent_stopped"   // a user stopped the agent of Session; the run continues
	RunPolicy            = "policy_updated"     // the chains after a change
	RunCompleted         = "completed"
	RunFailed            = "failed"
	RunCancelled         = "cancelled"
	RunInterrupted       = "interrupted"
)

// RunEvent is the payload of a run.event record ([record.KindRunEvent]).
type RunEvent struct {
	Event   string        `json:"event"`
	Status  api.RunStatus `json:"status,omitempty"`  // the status of the run after this event
	Segment int           `json:"segment,omitempty"` // 1 for the first start; each continuation adds 1

	By        string `json:"by,omitempty"`         // who requested it
	Via       string `json:"via,omitempty"`        // websocket, http, console, cli
	RequestID string `json:"request_id,omitempty"` // the id of the message that requested the event

	// set in started events; also in events that end a run, without Flow and Source
	Strategy  *StrategyInfo `json:"strategy,omitempty"`
	Spec      *runspec.Spec `json:"spec,omitempty"`       // the requested spec, without prompt and strategy; in started and described events
	StartedAt *time.Time    `json:"started_at,omitempty"` // in events that end a run
	Resumed   bool          `json:"resumed,omitempty"`    // the interrupted segment is resumed

	Step     string `json:"step,omitempty"` // the step's position in the flow, such as "1.r2.writer"; unique in a segment
	StepName string `json:"step_name,omitempty"`
	Agent    string `json:"agent,omitempty"`    // set in the events of steps and inputs, and in opened and relayed events
	Session  string `json:"session,omitempty"`  // in relayed events: the session that the records belong to; in opened, step_started, subagent_steered and subagent_stopped events: the session of the agent
	From     int64  `json:"from,omitempty"`     // the seq of the first of these records
	To       int64  `json:"to,omitempty"`       // the seq of the last of these records
	Input    string `json:"input,omitempty"`    // set in started and step_started events
	InputID  string `json:"input_id,omitempty"` // set in input_asked and input_given events
	Text     string `json:"text,omitempty"`     // a prompt, the answer to an input request, steering, or a result

	// Images are the images of a steered event, and of a started event: those of its Input, or, if it
	// resumes a segment, of its Text.
	Images []transcript.Media `json:"images,omitempty"`

	// The ids of the texts of a steering event: one in steered and steering_withdrawn events. A
	// started event with an id resumes an interrupted segment; its Text waits like that of a steered
	// event.
	Steering []string `json:"steering,omitempty"`

	Notices []string `json:"notices,omitempty"` // in opened events: what was found and repaired

	// Events in the format of package event. They belong to a run with a single agent that works in
	// the run's session. If the Result's text equals Text, it is left out.
	Opened Raw `json:"opened,omitempty"` // the event.SessionOpened; in started events
	Result Raw `json:"result,omitempty"` // in events that end a run: the last event.Result

	Usage  *transcript.Usage `json:"usage,omitempty"`
	Cost   float64           `json:"cost_usd,omitempty"`
	Finish string            `json:"finish,omitempty"` // of step_completed: event.Reason

	Code    Code           `json:"code,omitempty"`    // of failed, cancelled, interrupted
	Message string         `json:"message,omitempty"` // what went wrong
	Chains  []policy.Chain `json:"chains,omitempty"`  // of policy_updated

	// The policy changes for agents that have not worked yet. A started event contains all of them;
	// a policy_updated event contains the new one.
	Changes []policy.Change `json:"changes,omitempty"`
}

// StrategyInfo describes the strategy of a run. It is needed for strategy_started, and to continue
// the run.
type StrategyInfo struct {
	Name      string   `json:"name"`
	Path      string   `json:"path,omitempty"`
	Agents    []string `json:"agents"`
	SoleAgent string   `json:"sole,omitempty"` // the agent that works in the run's session; "": each agent has a separate session
	Flow      Raw      `json:"flow"`           // the flow tree of the strategy
	// Source is the strategy itself. A run continues with the strategy with which it was started.
	Source Raw    `json:"source,omitempty"`
	Cwd    string `json:"cwd,omitempty"`
	// Workspace is the name of the workspace that the run works in.
	Workspace string `json:"workspace,omitempty"`
	Model     string `json:"model,omitempty"` // override
	Mode      string `json:"mode,omitempty"`
	// MaxBudgetUSD is the requested budget: 0 keeps the current one, a negative value removes the
	// limit.
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty"`
}

// Problem says what went wrong, in error and strategy_error.
type Problem struct {
	Code    Code   `json:"code" jsonschema:"for programs"`
	Message string `json:"message" jsonschema:"for people"`
}
