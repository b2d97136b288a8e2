package wire

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/transcript"
)

// RunPrepared answers prepare_run: the run can be started, or continued when Continues.
type RunPrepared struct {
	Envelope

	RunID        string        `json:"runId" jsonschema:"the run"`
	StrategyName string        `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string        `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       List[string]  `json:"agents" jsonschema:"names of its agents"`
	FlowTree     Raw           `json:"flowTree" jsonschema:"its flow, as the strategy has it"`
	Cwd          string        `json:"cwd,omitempty" jsonschema:"the folder it works in"`
	Workspace    string        `json:"workspace,omitempty" jsonschema:"the workspace that it works in"`
	Model        string        `json:"model,omitempty" jsonschema:"the model that overrides its agents'"`
	Mode         string        `json:"mode,omitempty" jsonschema:"permission mode that was asked for"`
	Continues    bool          `json:"continues,omitempty" jsonschema:"the run is on record: starting or continuing it adds a segment"`
	Status       api.RunStatus `json:"status" jsonschema:"pending, or what became of the run before"`
	LastSeq      int64         `json:"lastSeq" jsonschema:"the last record of the run; 0 when there is none"`
}

// StrategyStarted tells that a run was started or continued.
type StrategyStarted struct {
	Place

	StrategyName string       `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string       `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       List[string] `json:"agents" jsonschema:"names of its agents"`
	FlowTree     Raw          `json:"flowTree" jsonschema:"its flow, as the strategy has it"`
	Cwd          string       `json:"cwd,omitempty" jsonschema:"the folder it works in"`
	Model        string       `json:"model,omitempty" jsonschema:"the model that overrides its agents'"`
	Mode         string       `json:"mode,omitempty" jsonschema:"permission mode at the start"`
	Segment      int          `json:"segment,omitempty" jsonschema:"1 is the first start; each continuation adds one"`
	Resumed      bool         `json:"resumed,omitempty" jsonschema:"a segment that was interrupted goes on"`
	Input        string       `json:"input,omitempty" jsonschema:"what it was started with"`
	By           string       `json:"by,omitempty" jsonschema:"who started it"`
	Via          string       `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut          *Truncation  `json:"cut,omitempty" jsonschema:"input was cut"`
}

// StepStarted tells that a step of the flow begins.
type StepStarted struct {
	Place

	StepName  string      `json:"stepName" jsonschema:"the step's name in the strategy"`
	Message   string      `json:"message" jsonschema:"what the agent is given"`
	AgentName string      `json:"agentName" jsonschema:"the agent that works on it"`
	Step      string      `json:"step,omitempty" jsonschema:"where in the flow, unique in a segment: 1.r2.writer"`
	Segment   int         `json:"segment,omitempty" jsonschema:"of the run"`
	Cut       *Truncation `json:"cut,omitempty" jsonschema:"message was cut"`
}

// StepCompleted tells what came out of a step.
type StepCompleted struct {
	Place

	StepName  string      `json:"stepName" jsonschema:"the step's name in the strategy"`
	Result    StepResult  `json:"result" jsonschema:"what came out of it"`
	AgentName string      `json:"agentName,omitempty" jsonschema:"the agent that worked on it"`
	Step      string      `json:"step,omitempty" jsonschema:"as in step_started"`
	Segment   int         `json:"segment,omitempty" jsonschema:"of the run"`
	CostUSD   float64     `json:"costUsd,omitempty" jsonschema:"what it cost, in US dollars, where prices are known"`
	Cut       *Truncation `json:"cut,omitempty" jsonschema:"result.text was cut"`
}

// StepResult is what came out of a step.
type StepResult struct {
	Text         string `json:"text" jsonschema:"the agent's last text"`
	Usage        Usage  `json:"usage" jsonschema:"tokens of the step"`
	FinishReason string `json:"finishReason" jsonschema:"why it ended: completed, max_turns, budget, refused, hook, …"`
}

// StepFailed tells that a step did not complete; strategy_error follows.
type StepFailed struct {
	Place

	StepName  string  `json:"stepName" jsonschema:"the step's name in the strategy"`
	AgentName string  `json:"agentName,omitempty" jsonschema:"the agent that worked on it"`
	Step      string  `json:"step,omitempty" jsonschema:"as in step_started"`
	Segment   int     `json:"segment,omitempty" jsonschema:"of the run"`
	Error     Problem `json:"error" jsonschema:"what was wrong"`
}

// StrategyCompleted ends a run, or a segment of it: it can be continued.
type StrategyCompleted struct {
	Place

	Result  string      `json:"result" jsonschema:"the last step's text"`
	Usage   Usage       `json:"usage" jsonschema:"tokens of the segment"`
	Segment int         `json:"segment,omitempty" jsonschema:"of the run"`
	CostUSD float64     `json:"costUsd,omitempty" jsonschema:"what it cost, in US dollars, where prices are known"`
	Cut     *Truncation `json:"cut,omitempty" jsonschema:"result was cut"`
}

// StrategyError ends a run that failed, was cancelled or was interrupted.
type StrategyError struct {
	Place

	Error   Problem `json:"error" jsonschema:"EXECUTION_ERROR, CANCELLED or INTERRUPTED, and what was wrong"`
	Segment int     `json:"segment,omitempty" jsonschema:"of the run"`
	By      string  `json:"by,omitempty" jsonschema:"who stopped it"`
	Via     string  `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
}

// SteerQueued tells that the next agent call of the run will heed a text.
type SteerQueued struct {
	Place

	Text string      `json:"text" jsonschema:"the text"`
	By   string      `json:"by,omitempty" jsonschema:"whose it is"`
	Via  string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut  *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// RequestInput asks people for the input of a user agent.
type RequestInput struct {
	Place

	AgentName      string      `json:"agentName" jsonschema:"the agent that waits"`
	Prompt         string      `json:"prompt,omitempty" jsonschema:"what it asks"`
	InputRequestID string      `json:"inputRequestId" jsonschema:"for user_input"`
	Step           string      `json:"step,omitempty" jsonschema:"as in step_started"`
	Cut            *Truncation `json:"cut,omitempty" jsonschema:"prompt was cut"`
}

// InputReceived tells that a request_input was answered.
type InputReceived struct {
	Place

	AgentName      string      `json:"agentName" jsonschema:"the agent that waited"`
	InputRequestID string      `json:"inputRequestId" jsonschema:"of the request_input"`
	Text           string      `json:"text" jsonschema:"the answer"`
	By             string      `json:"by,omitempty" jsonschema:"who answered"`
	Via            string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut            *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// Usage counts tokens in the seed's words. PromptTokens are all that went in,
// cached ones included.
type Usage struct {
	PromptTokens     int64 `json:"promptTokens" jsonschema:"all that went in, cached ones included"`
	CompletionTokens int64 `json:"completionTokens" jsonschema:"all that came out"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty" jsonschema:"of promptTokens, those read from a cache"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty" jsonschema:"of promptTokens, those written to a cache"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty" jsonschema:"of completionTokens, those of thinking"`
}

// tokens is a transcript's usage in the seed's words; nil is none.
func tokens(u *transcript.Usage) Usage {
	if u == nil {
		return Usage{}
	}
	return Usage{
		PromptTokens: u.Input + u.CacheRead + u.CacheWrite, CompletionTokens: u.Output,
		CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, ReasoningTokens: u.Reasoning,
	}
}

// Type implements [Message].
func (*RunPrepared) Type() string { return "run_prepared" }

// Type implements [Message].
func (*StrategyStarted) Type() string { return "strategy_started" }

// Type implements [Message].
func (*StepStarted) Type() string { return "step_started" }

// Type implements [Message].
func (*StepCompleted) Type() string { return "step_completed" }

// Type implements [Message].
func (*StepFailed) Type() string { return "step_failed" }

// Type implements [Message].
func (*StrategyCompleted) Type() string { return "strategy_completed" }

// Type implements [Message].
func (*StrategyError) Type() string { return "strategy_error" }

// Type implements [Message].
func (*SteerQueued) Type() string { return "steer_queued" }

// Type implements [Message].
func (*RequestInput) Type() string { return "request_input" }

// Type implements [Message].
func (*InputReceived) Type() string { return "input_received" }
