package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

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
	return append([]string{string(api.StatusPending), string(api.StatusWaiting)}, recordedStatuses()...)
}

// recordedStatuses are those that the log of a session can have.
func recordedStatuses() []string {
	return []string{string(api.StatusRunning), string(api.StatusCompleted), string(api.StatusFailed), string(api.StatusCancelled), string(api.StatusInterrupted)}
}

func runRoutes() []Route {
	changes := one(outcome.Conflict, outcome.Unavailable)
	act := func(verb, id, doc string, body any) Route {
		return Route{
			Method: http.MethodPost, Path: "/v1/runs/{id}/" + verb, ID: id, Tag: "runs", Doc: doc,
			Scope: api.ScopeRun, Body: body, Response: api.RunInfo{}, Problems: changes,
		}
	}
	start := act("start", "startRun", "Starts a run that is prepared.", RunInput{})
	resume := act("continue", "continueRun", "Continues a run that has ended or was interrupted.", RunInput{})
	start.OptionalBody, resume.OptionalBody = true, true
	mode := act("mode", "setRunMode", "Changes the permission mode of a run that runs.", ModeChange{})
	mode.Scope = api.ScopeApprove
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/runs", ID: "listRuns", Tag: "runs", Doc: "Runs, newest first.",
			Scope: api.ScopeRead, Response: api.Page[api.RunInfo]{},
			Query: paged(
				Param{Name: "status", Doc: "only with this status", Enum: runStatuses()},
				Param{Name: "cwd", Doc: "only of this folder"},
			),
		},
		{
			Method: http.MethodPost, Path: "/v1/runs", ID: "createRun", Tag: "runs",
			Doc: "Creates a run: of a strategy, or of a single agent. With input, or with start, it is started; a session that " +
				"has a run already is continued (200 then). A session_id that the client chose makes it safe to repeat the request.",
			Scope: api.ScopeRun, Body: api.NewRun{}, Status: http.StatusCreated, Also: []int{http.StatusOK}, Response: api.RunInfo{},
			Problems: one(outcome.Conflict, outcome.Unavailable, outcome.NotOffered),
		},
		{
			Method: http.MethodGet, Path: "/v1/runs/{id}", ID: "getRun", Tag: "runs", Doc: "One run.",
			Scope: api.ScopeRead, Response: api.RunInfo{}, Problems: one(),
		},
		start,
		resume,
		act("stop", "stopRun", "Cancels a run; that is on record when this answers.", nil),
		act("steer", "steerRun", "Gives a running run a text for its next model call.", Steer{}),
		act("input", "giveInput", "Answers a run that waits for input.", AgentInput{}),
		mode,
	}
}
