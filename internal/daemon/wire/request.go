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
	Kind      string `json:"type" jsonschema:"the message's name"`
	RequestID string `json:"requestId,omitempty" jsonschema:"echoed in the answer, and in the run messages that this one makes happen; at most 128 bytes"`
}

// Type implements [Request].
func (h Head) Type() string { return h.Kind }

// Correlation implements [Request].
func (h Head) Correlation() string { return h.RequestID }

// Hello authenticates a client that could not send headers, and names it. It is
// optional where the connection is authenticated already. Answer: hello.
type Hello struct {
	Head
	Token    string `json:"token,omitempty" jsonschema:"a bearer token, of a client that could not send headers"`
	Client   string `json:"client,omitempty" jsonschema:"name and version of the client, for the record"`
	Protocol int    `json:"protocol,omitempty" jsonschema:"version of this protocol: 1; 0 is any"`
}

// Ping asks for a pong.
type Ping struct{ Head }

// PrepareRun makes a run ready to start, or a run that has ended ready to be
// continued (RunID of a run that is there). Answer: run_prepared, and the caller is
// subscribed; or PREPARE_FAILED. One of RunID, StrategyPath and Strategy must be given.
// Nothing is kept of a run that is never started. Of a run that runs nothing changes: the
// caller is told what it is, and follows it.
type PrepareRun struct {
	Head
	RunID         string  `json:"runId,omitempty" jsonschema:"a run on record, or the id for a new one; left out: the daemon makes one"`
	StrategyPath  string  `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Strategy      Raw     `json:"strategy,omitempty" jsonschema:"instead of a path: the strategy itself"`
	ModelOverride string  `json:"modelOverride,omitempty" jsonschema:"a model instead of its agents'"`
	Cwd           string  `json:"cwd,omitempty" jsonschema:"the folder to work in; left out: that of the run on record, else the daemon's"`
	Workspace     string  `json:"workspace,omitempty" jsonschema:"the workspace that a new run works in, instead of a folder"`
	ManifestPath  string  `json:"manifestPath,omitempty" jsonschema:"the seed's name for a settings file that applies to this run"`
	Mode          string  `json:"mode,omitempty" jsonschema:"permission mode; left out: what the settings say"`
	MaxBudgetUSD  float64 `json:"maxBudgetUsd,omitempty" jsonschema:"bound of what the run may cost with all its agents, in US dollars; left out: the bound that it has; -1 lifts it"`

	Spec Raw `json:"spec,omitempty" jsonschema:"the whole run, an object as POST /v1/runs takes it (docs/reference/http.md); the other fields override it"`
}

// StartRun starts a prepared run. Answer: strategy_started to its subscribers, or
// START_FAILED.
type StartRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Input string `json:"input,omitempty" jsonschema:"what its first step is given"`
}

// ContinueRun goes on with a run that has ended or was interrupted. Input may be
// left out of one that was interrupted. Answer: strategy_started, or CONTINUE_FAILED.
type ContinueRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Input string `json:"input,omitempty" jsonschema:"what its first step is given; of a run that was interrupted it may be left out"`
}

// StopRun cancels a run. Answer: strategy_error with CANCELLED to its subscribers,
// or RUN_NOT_FOUND.
type StopRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
}

// UserInput answers a request_input. NO_PENDING_INPUT when nobody waits.
type UserInput struct {
	Head
	RunID          string `json:"runId" jsonschema:"the run"`
	AgentName      string `json:"agentName" jsonschema:"the agent that waits"`
	Text           string `json:"text" jsonschema:"the answer; it may be empty"`
	InputRequestID string `json:"inputRequestId,omitempty" jsonschema:"of the request_input; left out: the one that waits"`
}

// SteerRun gives a running run a text that its next agent call is to heed. Answer:
// steer_queued to its subscribers, or RUN_NOT_STEERABLE.
type SteerRun struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Text  string `json:"text" jsonschema:"what its next agent call is to heed"`
}

// PermissionDecision answers a request_permission. There is no direct answer but rule_kept
// to one with Always, or NO_PENDING_PERMISSION.
type PermissionDecision struct {
	Head
	RunID               string `json:"runId" jsonschema:"the run"`
	PermissionRequestID string `json:"permissionRequestId" jsonschema:"requestId of the request_permission"`
	Decision            string `json:"decision" jsonschema:"allow and deny are for this call alone, the others are remembered as long as the session lasts"`
	Scope               string `json:"scope,omitempty" jsonschema:"of a session decision: a rule; left out: exactly what was asked"`
	Always              string `json:"always,omitempty" jsonschema:"of a session decision: write its rule into the settings as well: local (this project, for the person), project (this project, for all) or user (every project); needs the scope admin"`
	Message             string `json:"message,omitempty" jsonschema:"told to the model"`
	Stop                bool   `json:"stop,omitempty" jsonschema:"with a deny: end the turn as well"`
	Input               Raw    `json:"input,omitempty" jsonschema:"with allow: run with this input instead; it is judged again. Of a form: {content}"`
	Digest              string `json:"digest,omitempty" jsonschema:"of what was shown; refused when it is another one's"`
}

// UpdatePolicy adds path rules to the guards of a run that is prepared or runs. Answer:
// policy_updated to its subscribers, RUN_NOT_FOUND, or VALIDATION_ERROR for a tool that no
// agent can have.
type UpdatePolicy struct {
	Head
	RunID     string   `json:"runId" jsonschema:"the run"`
	Tool      string   `json:"tool,omitempty" jsonschema:"the tool whose guard changes; left out: all, those that come later too"`
	Mode      string   `json:"mode" jsonschema:"which paths: those that are read or those that are written"`
	Allow     []string `json:"allow,omitempty" jsonschema:"globs to add to the allow list"`
	Deny      []string `json:"deny,omitempty" jsonschema:"globs to add to the deny list"`
	Default   string   `json:"default,omitempty" jsonschema:"for paths in no list; left out: as it was"`
	IfVersion *int     `json:"ifVersion,omitempty" jsonschema:"CONFLICT when the policy's version is another"`
}

// SetMode changes the permission mode of a run. Answer: policy_updated to its
// subscribers, or RUN_NOT_FOUND.
type SetMode struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
	Mode  string `json:"mode" jsonschema:"permission mode"`
}

// Subscribe asks for what a run says after a seq: what is on record, the questions
// that wait, caught_up, and then what happens. SUBSCRIBE_ERROR when there is no such run.
type Subscribe struct {
	Head
	RunID    string `json:"runId" jsonschema:"the run"`
	AfterSeq *int64 `json:"afterSeq,omitempty" jsonschema:"tell what is on record behind this; 0 is all; left out: only the questions that wait, and what happens from now on"`
}

// Unsubscribe ends a subscription. Answer: unsubscribed.
type Unsubscribe struct {
	Head
	RunID string `json:"runId" jsonschema:"the run"`
}

// ListRuns asks for the runs on record, newest first. Answer: run_list.
type ListRuns struct {
	Head
	Cwd    string `json:"cwd,omitempty" jsonschema:"only those of this folder"`
	Status string `json:"status,omitempty" jsonschema:"only those that stand there"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most; left out: 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"nextCursor of the page before"`
}

// ListStrategies asks for the runs in memory, as the seed has it. Answer: strategy_list.
type ListStrategies struct{ Head }
