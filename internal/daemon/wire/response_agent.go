package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// AgentStreaming reports what an agent does. Messages without a seq are provisional: they are not
// sent again, and recorded messages replace them.
type AgentStreaming struct {
	RunPosition

	AgentName string      `json:"agentName" jsonschema:"the agent"`
	Event     StreamEvent `json:"event" jsonschema:"the event"`
}

// StreamEvent is the event of an [AgentStreaming]: a struct of this package whose name begins with
// Stream.
type StreamEvent interface {
	// EventType returns the event's type, such as "tool-call".
	EventType() string
}

// StreamText is a piece of the model's answer. It is provisional.
type StreamText struct {
	Text string `json:"text" jsonschema:"a piece of the text"`
}

// StreamThinking is a piece of the model's thinking. It is provisional.
type StreamThinking struct {
	ID   string `json:"id" jsonschema:"always thinking: the pieces between two recorded messages belong together"`
	Text string `json:"text" jsonschema:"a piece of the thinking"`
}

// StreamToolInput is a piece of a tool call's input. It is provisional.
type StreamToolInput struct {
	ToolCallID string `json:"toolCallId" jsonschema:"the call"`
	ToolName   string `json:"toolName,omitempty" jsonschema:"the tool"`
	Text       string `json:"text" jsonschema:"a piece of the input's JSON"`
}

// StreamStepStart comes before each model call. It is provisional.
type StreamStepStart struct {
	Model   string `json:"model,omitempty" jsonschema:"the model"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"number of earlier attempts"`
}

// StreamRetry reports that a model call failed and is repeated. The client must discard the
// provisional messages of the failed call. StreamRetry itself is provisional.
type StreamRetry struct {
	Attempt int    `json:"attempt" jsonschema:"1 for the first retry"`
	DelayMS int64  `json:"delayMs" jsonschema:"delay in milliseconds"`
	Message string `json:"message" jsonschema:"what went wrong"`
}

// StreamNotice is a message for the user. It is provisional. The exceptions are notices about an
// agent's session when the session is opened.
type StreamNotice struct {
	Text  string `json:"text" jsonschema:"the text"`
	Title string `json:"title,omitempty" jsonschema:"title of a notification"`
	Level string `json:"level,omitempty" jsonschema:"info, warning or error"`
}

// StreamToolCall is a tool call that the model requested. The policy may still deny it.
type StreamToolCall struct {
	ToolCallID string      `json:"toolCallId" jsonschema:"the call"`
	ToolName   string      `json:"toolName" jsonschema:"the tool"`
	Args       string      `json:"args" jsonschema:"its input as JSON text"`
	Cut        *Truncation `json:"cut,omitempty" jsonschema:"args was cut"`
}

// StreamToolStart reports that a tool call was allowed and starts.
type StreamToolStart struct {
	ToolCallID string `json:"toolCallId" jsonschema:"the call"`
	ToolName   string `json:"toolName" jsonschema:"the tool"`
}

// StreamToolFinish reports the end of a tool call; its tool-result follows.
type StreamToolFinish struct {
	ToolCallID string              `json:"toolCallId" jsonschema:"the call"`
	ToolName   string              `json:"toolName" jsonschema:"the tool"`
	Status     string              `json:"status" jsonschema:"completed, error, unknown (the program ended during the call) or not-run"`
	DurationMS int64               `json:"durationMs" jsonschema:"how long it ran"`
	ExitCode   *int                `json:"exitCode,omitempty" jsonschema:"exit code of a command"`
	Changes    []record.FileChange `json:"changes,omitempty" jsonschema:"files that the tool changed"`
}

// StreamToolResult is the result of a tool call for the model.
type StreamToolResult struct {
	ToolCallID string      `json:"toolCallId" jsonschema:"the call"`
	Output     string      `json:"output" jsonschema:"text for the model"`
	Status     string      `json:"status" jsonschema:"completed or error"`
	Error      string      `json:"error,omitempty" jsonschema:"the output, if the status is error"`
	Cut        *Truncation `json:"cut,omitempty" jsonschema:"output was cut"`
}

// StreamRetention reports a rewrite of the transcript. The log keeps the earlier items.
type StreamRetention struct {
	Event Retention `json:"event" jsonschema:"the rewrite"`
}

// Retention is a rewrite of an agent's transcript.
type Retention struct {
	Kind     string `json:"kind" jsonschema:"compaction, redaction, repair, truncate or mutator"`
	By       string `json:"by,omitempty" jsonschema:"name of the step or mutator"`
	Retained int    `json:"recordsRetained" jsonschema:"number of items after the rewrite"`
}

// AgentOutput is a model's recorded answer.
type AgentOutput struct {
	RunPosition

	AgentName    string      `json:"agentName" jsonschema:"the agent"`
	Model        string      `json:"model,omitempty" jsonschema:"the model that answered"`
	Text         string      `json:"text" jsonschema:"the answer; empty if the model only calls tools"`
	Thinking     string      `json:"thinking,omitempty" jsonschema:"the model's thinking, if the provider returns it as text"`
	Usage        Usage       `json:"usage" jsonschema:"tokens of the model call"`
	ItemID       string      `json:"itemId" jsonschema:"the transcript item"`
	FinishReason string      `json:"finishReason,omitempty" jsonschema:"stop, tool_use, max_tokens, cancelled, refusal or error"`
	Cut          *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// AgentInput is a text for an agent, from a user or from Holdfast.
type AgentInput struct {
	RunPosition

	AgentName string      `json:"agentName" jsonschema:"the agent"`
	Text      string      `json:"text" jsonschema:"the text"`
	Role      string      `json:"role" jsonschema:"user, or notification for a message of Holdfast"`
	ItemID    string      `json:"itemId" jsonschema:"the transcript item"`
	Cut       *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// Type implements [Message].
func (*AgentStreaming) Type() string { return "agent_streaming" }

// Type implements [Message].
func (*AgentOutput) Type() string { return "agent_output" }

// Type implements [Message].
func (*AgentInput) Type() string { return "agent_input" }

// EventType implements [StreamEvent].
func (*StreamText) EventType() string { return "text" }

// EventType implements [StreamEvent].
func (*StreamThinking) EventType() string { return "thinking" }

// EventType implements [StreamEvent].
func (*StreamToolInput) EventType() string { return "tool-input" }

// EventType implements [StreamEvent].
func (*StreamStepStart) EventType() string { return "step-start" }

// EventType implements [StreamEvent].
func (*StreamRetry) EventType() string { return "retry" }

// EventType implements [StreamEvent].
func (*StreamNotice) EventType() string { return "notice" }

// EventType implements [StreamEvent].
func (*StreamToolCall) EventType() string { return "tool-call" }

// EventType implements [StreamEvent].
func (*StreamToolStart) EventType() string { return "tool-start" }

// EventType implements [StreamEvent].
func (*StreamToolFinish) EventType() string { return "tool-finish" }

// EventType implements [StreamEvent].
func (*StreamToolResult) EventType() string { return "tool-result" }

// EventType implements [StreamEvent].
func (*StreamRetention) EventType() string { return "retention" }

// streamEvents has one empty event of each type.
var streamEvents = []StreamEvent{
	&StreamText{}, &StreamThinking{}, &StreamToolInput{}, &StreamStepStart{}, &StreamRetry{}, &StreamNotice{},
	&StreamToolCall{}, &StreamToolStart{}, &StreamToolFinish{}, &StreamToolResult{}, &StreamRetention{},
}

// streamTypes maps event types to Go types.
var streamTypes = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range streamEvents {
		types[e.EventType()] = reflect.TypeOf(e).Elem()
	}
	return types
})

// streaming is an AgentStreaming whose event is already encoded.
type streaming struct {
	RunPosition

	AgentName string `json:"agentName"`
	Event     Raw    `json:"event"`
}

// MarshalJSON encodes the event with its type.
func (m *AgentStreaming) MarshalJSON() ([]byte, error) {
	if m.Event == nil {
		return nil, errors.New("agent_streaming has no event")
	}
	event, err := tagged(m.Event.EventType(), m.Event)
	if err != nil {
		return nil, err
	}
	return jsonscan.Marshal(streaming{m.RunPosition, m.AgentName, event})
}

// UnmarshalJSON decodes the event into the struct of its type.
func (m *AgentStreaming) UnmarshalJSON(b []byte) error {
	var s streaming
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(s.Event, &head); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	t, ok := streamTypes()[head.Type]
	if !ok {
		return &unknownEvent{head.Type}
	}
	event, _ := reflect.TypeAssert[StreamEvent](reflect.New(t))
	if err := json.Unmarshal(s.Event, event); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	*m = AgentStreaming{RunPosition: s.RunPosition, AgentName: s.AgentName, Event: event}
	return nil
}

// unknownEvent is the error for an event type of a newer daemon.
type unknownEvent struct{ name string }

func (e *unknownEvent) Error() string {
	return fmt.Sprintf("event: unknown event type %.60q", strings.ToValidUTF8(e.name, "?"))
}
