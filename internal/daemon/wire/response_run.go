package wire

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/transcript"
)

// RunPrepared answers prepare_run. It means that the run can be started or, if Continues is set,
// continued.
type RunPrepared struct {
	Envelope

	RunID        string        `json:"runId" jsonschema:"the run"`
	StrategyName string        `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string        `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       List[string]  `json:"agents" jsonschema:"names of its agents"`
	FlowTree     Raw           `json:"flowTree" jsonschema:"flow of the strategy"`
	Cwd          string        `json:"cwd,omitempty" jsonschema:"its working folder"`
	Workspace    string        `json:"workspace,omitempty" jsonschema:"its workspace"`
	Model        string        `json:"model,omitempty" jsonschema:"model that replaces the models of the agents"`
	Mode         string        `json:"mode,omitempty" jsonschema:"requested permission mode"`
	Continues    bool          `json:"continues,omitempty" jsonschema:"the run exists already; starting or continuing it adds a segment"`
	Status       api.RunStatus `json:"status" jsonschema:"pending, or the status of the previous segment"`
	LastSeq      int64         `json:"lastSeq" jsonschema:"last record of the run; 0 if there is none"`
}

// StrategyStarted reports that a run was started or continued.
type StrategyStarted struct {
	RunPosition

	StrategyName string       `json:"strategyName" jsonschema:"the strategy's name"`
	StrategyPath string       `json:"strategyPath,omitempty" jsonschema:"the strategy's file"`
	Agents       List[string] `json:"agents" jsonschema:"names of its agents"`
	FlowTree     Raw          `json:"flowTree" jsonschema:"flow of the strategy"`
	Cwd          string       `json:"cwd,omitempty" jsonschema:"its working folder"`
	Model        string       `json:"model,omitempty" jsonschema:"model that replaces the models of the agents"`
	Mode         string       `json:"mode,omitempty" jsonschema:"permission mode at the start"`
	Segment      int          `json:"segment,omitempty" jsonschema:"1 for the first start; each continuation adds one"`
	Resumed      bool         `json:"resumed,omitempty" jsonschema:"an interrupted segment is resumed"`
	Input        string       `json:"input,omitempty" jsonschema:"its input"`
	By           string       `json:"by,omitempty" jsonschema:"who started it"`
	Via          string       `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut          *Truncation  `json:"cut,omitempty" jsonschema:"input was cut"`
}

// StepStarted reports the start of a step of the flow.
type StepStarted struct {
	RunPosition

	StepName  string      `json:"stepName" jsonschema:"the step's name in the strategy"`
	Message   string      `json:"message" jsonschema:"input of the agent"`
	AgentName string      `json:"agentName" jsonschema:"the agent that works on it"`
	Step      string      `json:"step,omitempty" jsonschema:"position in the flow, unique in a segment, such as 1.r2.writer"`
	Segment   int         `json:"segment,omitempty" jsonschema:"segment of the run"`
	Cut       *Truncation `json:"cut,omitempty" jsonschema:"message was cut"`
}

// StepCompleted reports the result of a step.
type StepCompleted struct {
	RunPosition

	StepName  string      `json:"stepName" jsonschema:"the step's name in the strategy"`
	Result    StepResult  `json:"result" jsonschema:"its result"`
	AgentName string      `json:"agentName,omitempty" jsonschema:"the agent that worked on it"`
	Step      string      `json:"step,omitempty" jsonschema:"as in step_started"`
	Segment   int         `json:"segment,omitempty" jsonschema:"segment of the run"`
	CostUSD   float64     `json:"costUsd,omitempty" jsonschema:"cost in US dollars, if prices are known"`
	Cut       *Truncation `json:"cut,omitempty" jsonschema:"result.text was cut"`
}

// StepResult is the result of a step.
type StepResult struct {
	Text         string `json:"text" jsonschema:"the agent's last text"`
	Usage        Usage  `json:"usage" jsonschema:"tokens of the step"`
	FinishReason string `json:"finishReason" jsonschema:"why it ended: completed, max_turns, budget, refused, hook, …"`
}

// StepFailed reports that a step failed; strategy_error follows.
type StepFailed struct {
	RunPosition

	StepName  string  `json:"stepName" jsonschema:"the step's name in the strategy"`
	AgentName string  `json:"agentName,omitempty" jsonschema:"the agent that worked on it"`
	Step      string  `json:"step,omitempty" jsonschema:"as in step_started"`
	Segment   int     `json:"segment,omitempty" jsonschema:"segment of the run"`
	Error     Problem `json:"error" jsonschema:"what went wrong"`
}

// StrategyCompleted reports the end of a run or of a segment. The run can be continued.
type StrategyCompleted struct {
	RunPosition

	Result  string      `json:"result" jsonschema:"the last step's text"`
	Usage   Usage       `json:"usage" jsonschema:"tokens of the segment"`
	Segment int         `json:"segment,omitempty" jsonschema:"segment of the run"`
	CostUSD float64     `json:"costUsd,omitempty" jsonschema:"cost in US dollars, if prices are known"`
	Cut     *Truncation `json:"cut,omitempty" jsonschema:"result was cut"`
}

// StrategyError reports that a run failed, was cancelled or was interrupted.
type StrategyError struct {
	RunPosition

	Error   Problem `json:"error" jsonschema:"EXECUTION_ERROR, CANCELLED or INTERRUPTED, and what went wrong"`
	Segment int     `json:"segment,omitempty" jsonschema:"segment of the run"`
	By      string  `json:"by,omitempty" jsonschema:"who stopped it"`
	Via     string  `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
}

// SteerQueued reports a text for the next model call of the run.
type SteerQueued struct {
	RunPosition

	Text string      `json:"text" jsonschema:"the text"`
	By   string      `json:"by,omitempty" jsonschema:"who sent it"`
	Via  string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut  *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`

	SteeringID string `json:"steeringId,omitempty" jsonschema:"id of the text, as in steer_withdrawn"`
}

// SteerWithdrawn reports texts of steer_queued that no agent gets.
type SteerWithdrawn struct {
	RunPosition

	SteeringIDs []string    `json:"steeringIds" jsonschema:"steeringId of each text"`
	Message     string      `json:"message,omitempty" jsonschema:"why a hook refused the text; absent if a client withdrew it"`
	By          string      `json:"by,omitempty" jsonschema:"who withdrew it"`
	Via         string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut         *Truncation `json:"cut,omitempty" jsonschema:"message was cut"`
}

// SubagentSteered reports a text for one sub-agent or teammate, which has it.
type SubagentSteered struct {
	RunPosition

	AgentName    string      `json:"agentName,omitempty" jsonschema:"the sub-agent"`
	AgentSession string      `json:"agentSession" jsonschema:"its session"`
	Text         string      `json:"text" jsonschema:"the text"`
	By           string      `json:"by,omitempty" jsonschema:"who sent it"`
	Via          string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut          *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// SubagentStopped reports that a user stopped one sub-agent, or the turn of a teammate.
type SubagentStopped struct {
	RunPosition

	AgentName    string `json:"agentName,omitempty" jsonschema:"the sub-agent"`
	AgentSession string `json:"agentSession" jsonschema:"its session"`
	By           string `json:"by,omitempty" jsonschema:"who stopped it"`
	Via          string `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
}

// RequestInput asks for the input of a user agent.
type RequestInput struct {
	RunPosition

	AgentName      string      `json:"agentName" jsonschema:"the agent that waits"`
	Prompt         string      `json:"prompt,omitempty" jsonschema:"text of the request"`
	InputRequestID string      `json:"inputRequestId" jsonschema:"for user_input"`
	Step           string      `json:"step,omitempty" jsonschema:"as in step_started"`
	Cut            *Truncation `json:"cut,omitempty" jsonschema:"prompt was cut"`
}

// InputReceived reports that a request_input was answered.
type InputReceived struct {
	RunPosition

	AgentName      string      `json:"agentName" jsonschema:"the agent that waited"`
	InputRequestID string      `json:"inputRequestId" jsonschema:"of the request_input"`
	Text           string      `json:"text" jsonschema:"the answer"`
	By             string      `json:"by,omitempty" jsonschema:"who answered"`
	Via            string      `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
	Cut            *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// Usage counts tokens, with CommaAgents' field names. PromptTokens counts all input tokens,
// including cached ones.
type Usage struct {
	PromptTokens     int64 `json:"promptTokens" jsonschema:"all input tokens, including cached ones"`
	CompletionTokens int64 `json:"completionTokens" jsonschema:"all output tokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty" jsonschema:"input tokens read from a cache; part of promptTokens"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty" jsonschema:"input tokens written to a cache; part of promptTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty" jsonschema:"thinking tokens; part of completionTokens"`
}

// usageOf converts a transcript's usage; nil is zero.
func usageOf(u *transcript.Usage) Usage {
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

// Type returns the wire name.
func (*SteerWithdrawn) Type() string { return "steer_withdrawn" }

// Type returns the wire name.
func (*SubagentSteered) Type() string { return "subagent_steered" }

// Type returns the wire name.
func (*SubagentStopped) Type() string { return "subagent_stopped" }

// Type implements [Message].
func (*RequestInput) Type() string { return "request_input" }

// Type implements [Message].
func (*InputReceived) Type() string { return "input_received" }
