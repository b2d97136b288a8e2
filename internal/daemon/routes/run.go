package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/transcript"
)

// RunInput is the body of a request that starts or continues a run.
type RunInput struct {
	Input  string             `json:"input,omitempty"`
	Images []transcript.Media `json:"images,omitempty" jsonschema:"images with the input; only a run of a single agent takes them"`
}

// Steer is a text that the run gets with its next model call.
type Steer struct {
	Text   string             `json:"text"`
	Images []transcript.Media `json:"images,omitempty" jsonschema:"images with the text"`
	Agent  string             `json:"agent,omitempty" jsonschema:"session of a sub-agent or teammate that gets the text, and no other agent"`
}

// Stop says what to stop.
type Stop struct {
	Agent string `json:"agent,omitempty" jsonschema:"session of a sub-agent: stops it, or the turn of a teammate, and not the run"`
}

// AgentInput is the answer to an agent's request for input.
type AgentInput struct {
	Agent   string `json:"agent"`
	InputID string `json:"input_id,omitempty" jsonschema:"id of the request; default: the pending one"`
	Text    string `json:"text"`
}

// ModeChange sets the permission mode.
type ModeChange struct {
	Mode string `json:"mode"`
}

// runStatuses are the statuses of a run.
func runStatuses() []string {
	return append([]string{string(api.StatusPending), string(api.StatusWaiting)}, recordedStatuses()...)
}

// recordedStatuses are the statuses that the log of a session can contain.
func recordedStatuses() []string {
	return []string{string(api.StatusRunning), string(api.StatusCompleted), string(api.StatusFailed), string(api.StatusCancelled), string(api.StatusInterrupted)}
}

func runRoutes() []Route {
	changes := orNotFound(outcome.Conflict, outcome.Unavailable)
	act := func(verb, id, doc string, body any) Route {
		return Route{
			Method: http.MethodPost, Path: "/v1/runs/{id}/" + verb, ID: id, Tag: "runs", Doc: doc,
			Scope: api.ScopeRun, Body: body, Response: api.RunInfo{}, Problems: changes,
		}
	}
	start := act("start", "startRun", "Starts a prepared run.", RunInput{})
	resume := act("continue", "continueRun", "Continues a run that has ended or was interrupted.", RunInput{})
	stop := act("stop", "stopRun", "Cancels a run, or stops one of its sub-agents. The answer is sent after the cancellation is recorded.", Stop{})
	start.OptionalBody, resume.OptionalBody, stop.OptionalBody = true, true, true
	steer := act("steer", "steerRun", "Adds a text to the next model call of a running run, or of one of its sub-agents. The answer has the text's id in steeringId, except for a sub-agent, which has the text at once.", Steer{})
	start.Images, resume.Images, steer.Images = true, true, true
	mode := act("mode", "setRunMode", "Changes the permission mode of a running run.", ModeChange{})
	mode.Scope = api.ScopeApprove
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/runs", ID: "listRuns", Tag: "runs", Doc: "Lists runs, newest first.",
			Scope: api.ScopeRead, Response: api.Page[api.RunInfo]{},
			Query: paged(
				Param{Name: "status", Doc: "only runs with this status", Enum: runStatuses()},
				Param{Name: "cwd", Doc: "only runs in this folder"},
			),
		},
		{
			Method: http.MethodPost, Path: "/v1/runs", ID: "createRun", Tag: "runs",
			Doc: "Creates a run of a strategy or of a single agent. With a prompt or with start it is started. If the session " +
				"already has a run, that run is continued (status 200). A session id chosen by the client makes the request safe to repeat.",
			Scope: api.ScopeRun, Body: api.NewRun{}, Status: http.StatusCreated, Also: []int{http.StatusOK}, Response: api.RunInfo{}, Images: true,
			Problems: orNotFound(outcome.Conflict, outcome.Unavailable, outcome.NotOffered),
		},
		{
			Method: http.MethodGet, Path: "/v1/runs/{id}", ID: "getRun", Tag: "runs", Doc: "Returns one run.",
			Scope: api.ScopeRead, Response: api.RunInfo{}, Problems: orNotFound(),
		},
		start,
		resume,
		stop,
		steer,
		{
			Method: http.MethodDelete, Path: "/v1/runs/{id}/steering/{steering}", ID: "withdrawSteering", Tag: "runs",
			Doc:   "Takes back a text that no model request has yet.",
			Scope: api.ScopeRun, Status: http.StatusNoContent, Problems: changes,
		},
		act("input", "giveInput", "Answers a run's request for input.", AgentInput{}),
		mode,
	}
}
