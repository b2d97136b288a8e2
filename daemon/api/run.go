package api

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// NewRun describes a run: of a strategy, or of a single agent.
type NewRun struct {
	SessionID    string          `json:"session_id,omitempty" jsonschema:"of an existing session, or for a new one"`
	Strategy     json.RawMessage `json:"strategy,omitempty" jsonschema:"a strategy as an object; docs/strategies.md"`
	StrategyPath string          `json:"strategy_path,omitempty" jsonschema:"or its file, on the daemon's machine"`
	Model        string          `json:"model,omitempty" jsonschema:"PROVIDER/MODEL; overrides the agents'"`
	Cwd          string          `json:"cwd,omitempty" jsonschema:"the folder to work in, absolute; needed for a new session"`
	Workspace    string          `json:"workspace,omitempty" jsonschema:"the workspace that a new session works in, instead of cwd"`
	Mode         string          `json:"mode,omitempty" jsonschema:"permission mode"`
	MaxBudgetUSD float64         `json:"max_budget_usd,omitempty" jsonschema:"limit of what the run may cost with all its agents, in US dollars; left out: the limit that it has; -1 removes it"`
	Settings     string          `json:"settings,omitempty" jsonschema:"a settings file that applies to this run, absolute"`
	Title        string          `json:"title,omitempty"`
	Environ      []string        `json:"environ,omitempty" jsonschema:"entries NAME=VALUE, instead of the daemon's own; on the unix socket only"`
	Input        string          `json:"input,omitempty" jsonschema:"what to do"`
	Start        *bool           `json:"start,omitempty" jsonschema:"default: whether there is input"`
}

// RunInput is what a run starts or continues with.
type RunInput struct {
	Input string `json:"input,omitempty"`
}

// Steer is a text for a run's next model call.
type Steer struct {
	Text string `json:"text"`
}

// AgentInput answers an agent that waits for input.
type AgentInput struct {
	Agent   string `json:"agent"`
	InputID string `json:"input_id,omitempty" jsonschema:"of the request; left out: the one that waits"`
	Text    string `json:"text"`
}

// ModeChange names a permission mode.
type ModeChange struct {
	Mode string `json:"mode"`
}

// runStatuses are where a run can stand.
func runStatuses() []string {
	return append([]string{string(wire.Pending), string(wire.Waiting)}, recordedStatuses()...)
}

// recordedStatuses are those that a session's log can have: a pending run has none yet, and
// one that waits is running there.
func recordedStatuses() []string {
	return []string{string(wire.Running), string(wire.Completed), string(wire.Failed), string(wire.Cancelled), string(wire.Interrupted)}
}

func runRoutes() []Route {
	changes := one(outcome.Conflict, outcome.Unavailable)
	act := func(verb, id, doc string, body any) Route {
		return Route{
			Method: http.MethodPost, Path: "/v1/runs/{id}/" + verb, ID: id, Tag: "runs", Doc: doc,
			Scope: ScopeRun, Body: body, Response: wire.RunInfo{}, Problems: changes,
		}
	}
	start := act("start", "startRun", "Starts a run that is prepared.", RunInput{})
	resume := act("continue", "continueRun", "Continues a run that has ended or was interrupted.", RunInput{})
	start.OptionalBody, resume.OptionalBody = true, true
	mode := act("mode", "setRunMode", "Changes the permission mode of a run that runs.", ModeChange{})
	mode.Scope = ScopeApprove
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/runs", ID: "listRuns", Tag: "runs", Doc: "Runs, newest first.",
			Scope: ScopeRead, Response: Page[wire.RunInfo]{},
			Query: paged(
				Param{Name: "status", Doc: "only with this status", Enum: runStatuses()},
				Param{Name: "cwd", Doc: "only of this folder"},
			),
		},
		{
			Method: http.MethodPost, Path: "/v1/runs", ID: "createRun", Tag: "runs",
			Doc: "Creates a run: of a strategy, or of a single agent. With input, or with start, it is started; a session that " +
				"has a run already is continued (200 then). A session_id that the client chose makes it safe to repeat the request.",
			Scope: ScopeRun, Body: NewRun{}, Status: http.StatusCreated, Also: []int{http.StatusOK}, Response: wire.RunInfo{},
			Problems: one(outcome.Conflict, outcome.Unavailable, outcome.NotOffered),
		},
		{
			Method: http.MethodGet, Path: "/v1/runs/{id}", ID: "getRun", Tag: "runs", Doc: "One run.",
			Scope: ScopeRead, Response: wire.RunInfo{}, Problems: one(),
		},
		start,
		resume,
		act("stop", "stopRun", "Cancels a run; that is on record when this answers.", nil),
		act("steer", "steerRun", "Gives a running run a text for its next model call.", Steer{}),
		act("input", "giveInput", "Answers a run that waits for input.", AgentInput{}),
		mode,
	}
}
