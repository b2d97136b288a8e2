package otel

// convention is the version of the conventions for generative AI from which the names come. Other
// names begin with "holdfast.".
const convention = "1.41.0"

const (
	scopeName   = "github.com/holdfast-dev/holdfast/internal/otel"
	schemaURL   = "https://opentelemetry.io/schemas/" + convention
	serviceName = "holdfast"
)

// Spans.
const (
	spanAgent  = "invoke_agent"
	spanChat   = "chat"
	spanTool   = "execute_tool"
	spanPerson = "wait_for_person"
	spanHook   = "hook"

	eventDenied = "holdfast.denied" // on invoke_agent
)

// Attributes.
const (
	attrOperation    = "gen_ai.operation.name"
	attrProvider     = "gen_ai.provider.name"
	attrModel        = "gen_ai.request.model"
	attrStream       = "gen_ai.request.stream"
	attrFinish       = "gen_ai.response.finish_reasons"
	attrFirstChunk   = "gen_ai.response.time_to_first_chunk"
	attrConversation = "gen_ai.conversation.id"
	attrAgent        = "gen_ai.agent.name"
	attrInput        = "gen_ai.usage.input_tokens"
	attrOutput       = "gen_ai.usage.output_tokens"
	attrCacheRead    = "gen_ai.usage.cache_read.input_tokens"
	attrCacheWrite   = "gen_ai.usage.cache_creation.input_tokens"
	attrReasoning    = "gen_ai.usage.reasoning.output_tokens"
	attrTokenType    = "gen_ai.token.type"
	attrTool         = "gen_ai.tool.name"
	attrToolCall     = "gen_ai.tool.call.id"
	attrToolType     = "gen_ai.tool.type"
	attrError        = "error.type"
	attrExit         = "process.exit.code"

	attrTurn       = "holdfast.turn.id"
	attrReason     = "holdfast.turn.reason"
	attrCost       = "holdfast.cost.usd"
	attrAttempt    = "holdfast.attempt"
	attrFor        = "holdfast.call.for"
	attrEffect     = "holdfast.decision.effect"
	attrDecider    = "holdfast.decision.by"
	attrMode       = "holdfast.decision.mode"
	attrQuestion   = "holdfast.approval.id"
	attrAnswer     = "holdfast.approval.decision"
	attrBy         = "holdfast.approval.by"
	attrVia        = "holdfast.approval.via"
	attrEvent      = "holdfast.hook.event"
	attrHookType   = "holdfast.hook.type"
	attrSource     = "holdfast.hook.source"
	attrHookOutput = "holdfast.hook.effect"
)

// Metrics.
const (
	metricTokens     = "gen_ai.client.token.usage"
	metricOperation  = "gen_ai.client.operation.duration"
	metricFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
	metricAgent      = "gen_ai.invoke_agent.duration"
	metricTool       = "gen_ai.execute_tool.duration"
	metricTurns      = "holdfast.turns"
	metricActive     = "holdfast.sessions.active"
	metricDecisions  = "holdfast.decisions"
	metricWait       = "holdfast.approval.wait"
	metricPending    = "holdfast.approvals.pending"
	metricHooks      = "holdfast.hooks"
	metricHookTime   = "holdfast.hook.duration"
	metricCost       = "holdfast.cost"
)
