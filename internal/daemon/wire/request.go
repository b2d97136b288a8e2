package wire

import "github.com/holdfast-dev/holdfast/transcript"

// Request is a message of a client. The key "type" of the JSON object is the type of the message.
type Request interface {
	// Type returns the message's type, such as "start_run".
	Type() string
	// Correlation returns the requestId to echo, or "".
	Correlation() string
}

// Head has the fields of every client message.
type Head struct {
	Kind      string `json:"type" jsonschema:"the message's type"`
	RequestID string `json:"requestId,omitempty" jsonschema:"echoed in the answer and in the run messages that this message causes; at most 128 bytes"`
}

// Type implements [Request].
func (h Head) Type() string { return h.Kind }

// Correlation implements [Request].
func (h Head) Correlation() string { return h.RequestID }

// Hello authenticates a client that could not send headers, and names it. On an authenticated
// connection it is optional. Answer: hello.
type Hello struct {
	Head
	Token    string `json:"token,omitempty" jsonschema:"a bearer token, for clients that cannot send headers"`
	Client   string `json:"client,omitempty" jsonschema:"name and version of the client, for the daemon's log"`
	Protocol int    `json:"protocol,omitempty" jsonschema:"version of this protocol: 1; 0 accepts any"`
}

// Ping requests a pong.
type Ping struct{ Head }

// PrepareRun prepares a run that the client can then start. If RunID names a run that has ended,
// the client can continue that run. Answer: run_prepared, and the caller is then subscribed to the
// run; or PREPARE_FAILED. One of RunID, StrategyPath and Strategy is required. If a run is never
// started, it leaves nothing behind. If the run is already running, nothing changes: the caller
// gets its description and is subscribed.
type PrepareRun struct {
	Head
	RunID         string  `json:"runId,omitempty" jsonschema:"an existing run, or the id of a new one; if omitted, the daemon creates an id"`
	StrategyPath  string  `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Strategy      Raw     `json:"strategy,omitempty" jsonschema:"the strategy itself, instead of a path"`
	ModelOverride string  `json:"modelOverride,omitempty" jsonschema:"model that replaces the models of the agents"`
	Cwd           string  `json:"cwd,omitempty" jsonschema:"working folder; default: that of the existing run, otherwise the daemon's"`
	Workspace     string  `json:"workspace,omitempty" jsonschema:"name of the workspace for a new run, instead of a folder"`
	ManifestPath  string  `json:"manifestPath,omitempty" jsonschema:"a settings file for this run (the name comes from CommaAgents)"`
	Mode          string  `json:"mode,omitempty" jsonschema:"permission mode; default: from the settings"`
	MaxBudgetUSD  float64 `json:"maxBudgetUsd,omitempty" jsonschema:"maximum cost of the run with all its agents, in US dollars; if omitted, it stays as it is; -1 removes the limit"`

	Spec Raw `json:"spec,omitempty" jsonschema:"the complete run spec, an object as in POST /v1/runs (docs/reference/http.md); the other fields override it"`
}

// StartRun starts a prepared run. Answer: strategy_started to its subscribers, or
// START_FAILED.
type StartRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Input string `json:"input,omitempty" jsonschema:"input of its first step"`

	Images []transcript.Media `json:"images,omitempty" jsonschema:"images with the input, if the run has a single agent; the message must stay below its maximum size, and HTTP takes larger ones"`
}

// ContinueRun continues a run that has ended or was interrupted. For an interrupted run, Input may
// be omitted. Answer: strategy_started, or CONTINUE_FAILED.
type ContinueRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Input string `json:"input,omitempty" jsonschema:"input of its first step; may be omitted for an interrupted run"`

	Images []transcript.Media `json:"images,omitempty" jsonschema:"as in start_run"`
}

// StopRun cancels a run, or stops one of its sub-agents. Answer: strategy_error with CANCELLED to its
// subscribers, or RUN_NOT_FOUND. For a sub-agent: subagent_stopped, or CONFLICT if it does not work.
type StopRun struct {
	Head
	RunID        string `json:"runId" jsonschema:"the run"`
	AgentSession string `json:"agentSession,omitempty" jsonschema:"session of a sub-agent: stops it, or the turn of a teammate, and not the run"`
}

// UserInput answers a request_input. If none is pending, the answer is NO_PENDING_INPUT.
type UserInput struct {
	Head
	RunID          string `json:"runId" jsonschema:"the run"`
	AgentName      string `json:"agentName" jsonschema:"the agent that waits"`
	Text           string `json:"text" jsonschema:"the answer; it may be empty"`
	InputRequestID string `json:"inputRequestId,omitempty" jsonschema:"id of the request_input; if omitted, the pending one"`
}

// SteerRun gives a running run, or one of its sub-agents, a text for the next model call. Answer:
// steer_queued or subagent_steered to its subscribers, RUN_NOT_STEERABLE, or CONFLICT if the sub-agent
// does not work or waits for an approval.
type SteerRun struct {
	Head
	RunID        string `json:"runId" jsonschema:"the run"`
	Text         string `json:"text" jsonschema:"text for the next model call"`
	AgentSession string `json:"agentSession,omitempty" jsonschema:"session of a sub-agent or teammate that gets the text, and no other agent"`

	Images []transcript.Media `json:"images,omitempty" jsonschema:"images with the text; sizes as in start_run"`
}

// PermissionDecision answers a request_permission. The direct answer is NO_PENDING_PERMISSION or,
// with Always, rule_kept. In all other cases there is no direct answer.
type PermissionDecision struct {
	Head
	RunID               string `json:"runId" jsonschema:"the run"`
	PermissionRequestID string `json:"permissionRequestId" jsonschema:"requestId of the request_permission"`
	Decision            string `json:"decision" jsonschema:"allow and deny apply to this call only, the others to the rest of the session"`
	Scope               string `json:"scope,omitempty" jsonschema:"for a session decision: a rule; default: exactly the request"`
	Always              string `json:"always,omitempty" jsonschema:"for a session decision: also save its rule in the settings: local (this project, only you), project (this project, everyone) or user (all your projects); needs the scope admin"`
	Message             string `json:"message,omitempty" jsonschema:"text for the model"`
	Stop                bool   `json:"stop,omitempty" jsonschema:"with a deny: also end the turn"`
	Input               Raw    `json:"input,omitempty" jsonschema:"with allow: run the tool with this input instead; the policy decides again. For a form: {content}"`
	Digest              string `json:"digest,omitempty" jsonschema:"digest of the approval request that was shown; rejected if it does not match"`
}

// UpdatePolicy adds path rules to the guards of a prepared or running run. Answer: policy_updated
// to the subscribers of the run, RUN_NOT_FOUND, or VALIDATION_ERROR for a tool that no agent can
// have.
type UpdatePolicy struct {
	Head
	RunID     string   `json:"runId" jsonschema:"the run"`
	Tool      string   `json:"tool,omitempty" jsonschema:"tool whose guard changes; if omitted, all tools, including later ones"`
	Mode      string   `json:"mode" jsonschema:"read or write: the access that the rules are for"`
	Allow     []string `json:"allow,omitempty" jsonschema:"globs to add to the allow list"`
	Deny      []string `json:"deny,omitempty" jsonschema:"globs to add to the deny list"`
	Default   string   `json:"default,omitempty" jsonschema:"decision for paths in neither list; if omitted, it stays as it is"`
	IfVersion *int     `json:"ifVersion,omitempty" jsonschema:"CONFLICT if the policy has a different version"`
}

// SetMode changes the permission mode of a run. Answer: policy_updated to its
// subscribers, or RUN_NOT_FOUND.
type SetMode struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Mode  string `json:"mode" jsonschema:"permission mode"`
}

// Subscribe requests the messages of a run after a seq. The client gets the recorded messages, the
// pending approvals and inputs, caught_up, and then new messages. If the run does not exist, the
// answer is SUBSCRIBE_ERROR.
type Subscribe struct {
	Head
	RunID    string `json:"runId" jsonschema:"the run"`
	AfterSeq *int64 `json:"afterSeq,omitempty" jsonschema:"send messages of records after this seq; 0 sends all; if omitted, only pending approvals and inputs, and new messages"`
}

// Unsubscribe ends a subscription. Answer: unsubscribed.
type Unsubscribe struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
}

// ListRuns requests the list of recorded runs, newest first. Answer: run_list.
type ListRuns struct {
	Head
	Cwd    string `json:"cwd,omitempty" jsonschema:"only runs in this folder"`
	Status string `json:"status,omitempty" jsonschema:"only runs with this status"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of runs; default 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"nextCursor of the previous page"`
}

// ListStrategies requests the list of runs in memory, as in CommaAgents. Answer: strategy_list.
type ListStrategies struct{ Head }
