package wire

// Request is a message of a client. Its type is the key "type" of the object.
type Request interface {
	// Type is the message's name: "start_run".
	Type() string
	// Correlation is the requestId to echo, or "".
	Correlation() string
}

// Head is what all messages of clients have.
type Head struct {
	Kind      string `json:"type"`
	RequestID string `json:"requestId,omitempty"` // echoed in the answer, at most 128 bytes
}

// Type implements [Request].
func (h Head) Type() string { return h.Kind }

// Correlation implements [Request].
func (h Head) Correlation() string { return h.RequestID }

// Hello authenticates a client that could not send headers, and names it. It is
// optional where the connection is authenticated already. Answer: hello.
type Hello struct {
	Head
	Token    string `json:"token,omitempty"`
	Client   string `json:"client,omitempty"`   // name and version, for the record
	Protocol int    `json:"protocol,omitempty"` // 1; 0 is any
}

// Ping asks for a pong.
type Ping struct{ Head }

// PrepareRun makes a run ready to start, or a run that has ended ready to be
// continued (RunID of a run that is there). Answer: run_prepared, and the caller is
// subscribed; or PREPARE_FAILED. One of RunID, StrategyPath and Strategy must be given.
// Nothing is kept of a run that is never started.
type PrepareRun struct {
	Head
	RunID         string `json:"runId,omitempty"`
	StrategyPath  string `json:"strategyPath,omitempty"`
	Strategy      Raw    `json:"strategy,omitempty"` // instead of a path: the strategy itself, as an object
	ModelOverride string `json:"modelOverride,omitempty"`
	Cwd           string `json:"cwd,omitempty"`
	ManifestPath  string `json:"manifestPath,omitempty"` // the seed's name for a settings file that applies to this run
	Mode          string `json:"mode,omitempty"`         // permission mode
}

// StartRun starts a prepared run. Answer: strategy_started to its subscribers, or
// START_FAILED.
type StartRun struct {
	Head
	RunID string `json:"runId"`
	Input string `json:"input,omitempty"`
}

// ContinueRun goes on with a run that has ended or was interrupted. Input may be
// left out of one that was interrupted. Answer: strategy_started, or CONTINUE_FAILED.
type ContinueRun struct {
	Head
	RunID string `json:"runId"`
	Input string `json:"input,omitempty"`
}

// StopRun cancels a run. Answer: strategy_error with CANCELLED to its subscribers,
// or RUN_NOT_FOUND.
type StopRun struct {
	Head
	RunID string `json:"runId"`
}

// UserInput answers a request_input. NO_PENDING_INPUT when nobody waits.
type UserInput struct {
	Head
	RunID          string `json:"runId"`
	AgentName      string `json:"agentName"`
	Text           string `json:"text"`
	InputRequestID string `json:"inputRequestId,omitempty"` // of the request_input; "" is the one that waits
}

// SteerRun gives a running run a text that its next agent call is to heed. Answer:
// steer_queued to its subscribers, or RUN_NOT_STEERABLE.
type SteerRun struct {
	Head
	RunID string `json:"runId"`
	Text  string `json:"text"`
}

// PermissionDecision answers a request_permission. There is no direct answer, or
// NO_PENDING_PERMISSION.
type PermissionDecision struct {
	Head
	RunID               string `json:"runId"`
	PermissionRequestID string `json:"permissionRequestId"`
	Decision            string `json:"decision"`          // allow, deny, allow-session, deny-session
	Scope               string `json:"scope,omitempty"`   // of a session decision: a rule
	Message             string `json:"message,omitempty"` // told to the model
	Stop                bool   `json:"stop,omitempty"`    // with a deny: end the turn as well
	Input               Raw    `json:"input,omitempty"`   // with a plain allow: run with this instead
	Digest              string `json:"digest,omitempty"`  // of what was shown; another one is refused
}

// UpdatePolicy adds path rules to the guards of a run. Answer: policy_updated to its
// subscribers, or RUN_NOT_FOUND.
type UpdatePolicy struct {
	Head
	RunID     string   `json:"runId"`
	Tool      string   `json:"tool,omitempty"` // "" is all
	Mode      string   `json:"mode"`           // read or write
	Allow     []string `json:"allow,omitempty"`
	Deny      []string `json:"deny,omitempty"`
	Default   string   `json:"default,omitempty"`   // allow, deny, ask; "" leaves it
	IfVersion *int     `json:"ifVersion,omitempty"` // refused when the policy's version is another
}

// SetMode changes the permission mode of a run. Answer: policy_updated to its
// subscribers, or RUN_NOT_FOUND.
type SetMode struct {
	Head
	RunID string `json:"runId"`
	Mode  string `json:"mode"`
}

// Subscribe asks for what a run says after a seq: what is on record, the questions
// that wait, caught_up, and then what happens. SUBSCRIBE_ERROR when there is no such run.
type Subscribe struct {
	Head
	RunID    string `json:"runId"`
	AfterSeq *int64 `json:"afterSeq,omitempty"` // default: from now on, after the questions that wait
}

// Unsubscribe ends a subscription. Answer: unsubscribed.
type Unsubscribe struct {
	Head
	RunID string `json:"runId"`
}

// ListRuns asks for the runs on record, newest first. Answer: run_list.
type ListRuns struct {
	Head
	Cwd    string `json:"cwd,omitempty"`
	Status string `json:"status,omitempty"`
	Limit  int    `json:"limit,omitempty"` // default 50, at most 500
	Cursor string `json:"cursor,omitempty"`
}

// ListStrategies asks for the runs in memory, as the seed has it. Answer: strategy_list.
type ListStrategies struct{ Head }
