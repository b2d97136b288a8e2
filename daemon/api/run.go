package api

import (
	"time"

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

// FullSpec returns the run's spec, with the fields that have earlier names.
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

// RunStatus is where a run stands.
//
//	pending ─► running ⇄ waiting ─► completed | failed | cancelled | interrupted
//	             ▲                              │
//	             └────────── continue ◄─────────┘
type RunStatus string

// The statuses of a run. A pending one is in memory only; one that waits is running on record.
const (
	StatusPending     RunStatus = "pending"
	StatusRunning     RunStatus = "running"
	StatusWaiting     RunStatus = "waiting" // for an answer or for input
	StatusCompleted   RunStatus = "completed"
	StatusFailed      RunStatus = "failed"
	StatusCancelled   RunStatus = "cancelled"
	StatusInterrupted RunStatus = "interrupted" // its daemon ended; it can be continued
)

// Ended reports whether nothing more happens until the run is continued.
func (s RunStatus) Ended() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled || s == StatusInterrupted
}

// RunInfo is a run, also in the WebSocket's run_list.
type RunInfo struct {
	RunID        string         `json:"runId" jsonschema:"the run"`
	SessionID    string         `json:"sessionId" jsonschema:"its session: the same"`
	Status       RunStatus      `json:"status" jsonschema:"where it stands"`
	StrategyName string         `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string         `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       []string       `json:"agents,omitempty" jsonschema:"names of its agents"`
	Cwd          string         `json:"cwd" jsonschema:"the folder it works in"`
	Workspace    string         `json:"workspace,omitempty" jsonschema:"the workspace it works in"`
	Mode         string         `json:"mode,omitempty" jsonschema:"permission mode"`
	Segment      int            `json:"segment" jsonschema:"1 is the first start; each continuation adds one"`
	StartedAt    time.Time      `json:"startedAt,omitzero" jsonschema:"when the segment was started; left out of one that never was"`
	CompletedAt  *time.Time     `json:"completedAt" jsonschema:"when it ended; null while it has not"`
	Approvals    int            `json:"questions" jsonschema:"questions that wait"`
	Inputs       []WaitingInput `json:"inputs,omitempty" jsonschema:"inputs that wait"`
	Result       string         `json:"result,omitempty" jsonschema:"of one that completed"`
	Error        *RunError      `json:"error,omitempty" jsonschema:"of one that failed, was cancelled or was interrupted"`
	LastSeq      int64          `json:"lastSeq" jsonschema:"its last record"`
}

// WaitingInput is a request for input that waits.
type WaitingInput struct {
	InputRequestID string    `json:"inputRequestId" jsonschema:"for user_input"`
	AgentName      string    `json:"agentName" jsonschema:"the agent that waits"`
	Prompt         string    `json:"prompt,omitempty" jsonschema:"what it asks"`
	AskedAt        time.Time `json:"askedAt" jsonschema:"since when"`
}

// RunError is why a run ended. The codes are those of docs/reference/websocket.md.
type RunError struct {
	Code    string `json:"code" jsonschema:"for programs"`
	Message string `json:"message" jsonschema:"for people"`
}
