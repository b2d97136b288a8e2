package api

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/runspec"
)

// NewRun describes a run: of a strategy, or of a single agent. It is a [runspec.Spec] with what
// only a request has. Fields that an older version had have their old names, too.
type NewRun struct {
	runspec.Spec
	Environ []string `json:"environ,omitempty" jsonschema:"entries NAME=VALUE, instead of the daemon's own; on the unix socket only, and never on record"`
	Start   *bool    `json:"start,omitempty" jsonschema:"default: whether there is a prompt"`

	SessionID    string  `json:"session_id,omitempty" jsonschema:"the earlier name of session.id"`
	Mode         string  `json:"mode,omitempty" jsonschema:"the earlier name of permissions.mode"`
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty" jsonschema:"the earlier name of limits.max_budget_usd"`
	Settings     string  `json:"settings,omitempty" jsonschema:"an earlier name: one entry of permissions.settings"`
	Title        string  `json:"title,omitempty" jsonschema:"the earlier name of session.title"`
	Input        string  `json:"input,omitempty" jsonschema:"the earlier name of prompt"`
}

// Whole returns the run's spec, with the fields that have earlier names.
func (n *NewRun) Whole() runspec.Spec {
	s := n.Spec.Over(runspec.Spec{
		Prompt: n.Input, Session: runspec.Session{ID: n.SessionID, Title: n.Title},
		Permissions: runspec.Permissions{Mode: n.Mode}, Limits: runspec.Limits{MaxBudgetUSD: n.MaxBudgetUSD},
	})
	if n.Settings != "" {
		s.Permissions.Settings = append([]string{n.Settings}, s.Permissions.Settings...)
	}
	return s
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
