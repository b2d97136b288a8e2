package api

import (
	"time"

	"github.com/holdfast-dev/holdfast/runspec"
)

// NewRun describes a run of a strategy or of a single agent. It is a [runspec.Spec] with additional
// fields for requests, and with the earlier names of some fields.
type NewRun struct {
	runspec.Spec
	Environ []string `json:"environ,omitempty" jsonschema:"entries NAME=VALUE that replace the daemon's environment; only on the unix socket, never recorded"`
	Start   *bool    `json:"start,omitempty" jsonschema:"start the run; default: true if there is a prompt"`

	SessionID    string  `json:"session_id,omitempty" jsonschema:"earlier name of session.id"`
	Mode         string  `json:"mode,omitempty" jsonschema:"earlier name of permissions.mode"`
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty" jsonschema:"earlier name of limits.max_budget_usd"`
	Settings     string  `json:"settings,omitempty" jsonschema:"earlier name of permissions.settings, for one entry"`
	Title        string  `json:"title,omitempty" jsonschema:"earlier name of session.title"`
	Input        string  `json:"input,omitempty" jsonschema:"earlier name of prompt"`
}

// FullSpec returns the run's spec, including the fields given by their earlier names.
func (n *NewRun) FullSpec() runspec.Spec {
	s := n.Spec.Merge(runspec.Spec{
		Prompt: n.Input, Session: runspec.Session{ID: n.SessionID, Title: n.Title},
		Permissions: runspec.Permissions{Mode: n.Mode}, Limits: runspec.Limits{MaxBudgetUSD: n.MaxBudgetUSD},
	})
	if n.Settings != "" {
		s.Permissions.Settings = append([]string{n.Settings}, s.Permissions.Settings...)
	}
	return s
}

// RunStatus is the status of a run.
//
//	pending ─► running ⇄ waiting ─► completed | failed | cancelled | interrupted
//	             ▲                              │
//	             └────────── continue ◄─────────┘
type RunStatus string

// The statuses of a run. A pending run exists only in memory; a waiting run is recorded as running.
const (
	StatusPending     RunStatus = "pending"
	StatusRunning     RunStatus = "running"
	StatusWaiting     RunStatus = "waiting" // the run waits for an answer or for input
	StatusCompleted   RunStatus = "completed"
	StatusFailed      RunStatus = "failed"
	StatusCancelled   RunStatus = "cancelled"
	StatusInterrupted RunStatus = "interrupted" // the daemon that ran it stopped; the run can be continued
)

// Ended reports whether the run has ended. It can be continued.
func (s RunStatus) Ended() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled || s == StatusInterrupted
}

// RunInfo describes a run, in HTTP answers and in the WebSocket message run_list.
type RunInfo struct {
	RunID        string         `json:"runId" jsonschema:"the run"`
	SessionID    string         `json:"sessionId" jsonschema:"its session; the same id"`
	Status       RunStatus      `json:"status" jsonschema:"status of the run"`
	StrategyName string         `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string         `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       []string       `json:"agents,omitempty" jsonschema:"names of its agents"`
	Cwd          string         `json:"cwd" jsonschema:"its working folder"`
	Workspace    string         `json:"workspace,omitempty" jsonschema:"its workspace"`
	Mode         string         `json:"mode,omitempty" jsonschema:"permission mode"`
	Segment      int            `json:"segment" jsonschema:"1 for the first start; each continuation adds one"`
	StartedAt    time.Time      `json:"startedAt,omitzero" jsonschema:"start time of the segment; omitted if it was never started"`
	CompletedAt  *time.Time     `json:"completedAt" jsonschema:"end time; null while it has not ended"`
	Approvals    int            `json:"questions" jsonschema:"number of pending approvals"`
	Inputs       []WaitingInput `json:"inputs,omitempty" jsonschema:"pending requests for input"`
	Result       string         `json:"result,omitempty" jsonschema:"result of a completed run"`
	Error        *RunError      `json:"error,omitempty" jsonschema:"error of a failed, cancelled or interrupted run"`
	LastSeq      int64          `json:"lastSeq" jsonschema:"seq of its last record"`
	SteeringID   string         `json:"steeringId,omitempty" jsonschema:"in the answer to steerRun: id of the text, for withdrawSteering"`
}

// WaitingInput is a pending request for input.
type WaitingInput struct {
	InputRequestID string    `json:"inputRequestId" jsonschema:"id of the request, for user_input"`
	AgentName      string    `json:"agentName" jsonschema:"the agent that waits"`
	Prompt         string    `json:"prompt,omitempty" jsonschema:"text of the request"`
	AskedAt        time.Time `json:"askedAt" jsonschema:"time of the request"`
}

// RunError says why a run ended. The codes are those of docs/reference/websocket.md.
type RunError struct {
	Code    string `json:"code" jsonschema:"error code"`
	Message string `json:"message" jsonschema:"what went wrong"`
}
