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

// AgentStreaming tells what an agent does. Messages without a seq are provisional:
// they are never told again, and what is on record replaces them.
type AgentStreaming struct {
	Place

	AgentName string      `json:"agentName" jsonschema:"the agent"`
	Event     StreamEvent `json:"event" jsonschema:"what it does"`
}

// StreamEvent is the event of an [AgentStreaming]: one of this package's structs
// whose names begin with Stream.
type StreamEvent interface {
	// EventType is the event's name: "tool-call".
	EventType() string
}

// StreamText is a piece of an answer that is still coming. It is provisional.
type StreamText struct {
	Text string `json:"text" jsonschema:"a piece of the text"`
}

// StreamThinking is a piece of the model's thinking. It is provisional.
type StreamThinking struct {
	ID   string `json:"id" jsonschema:"always thinking: the pieces between two messages on record belong together"`
	Text string `json:"text" jsonschema:"a piece of the thinking"`
}

// StreamToolInput is a piece of a tool call's input. It is provisional.
type StreamToolInput struct {
	ToolCallID string `json:"toolCallId" jsonschema:"the call"`
	ToolName   string `json:"toolName,omitempty" jsonschema:"the tool"`
	Text       string `json:"text" jsonschema:"a piece of the input's JSON"`
}

// StreamStepStart comes before each call of a model. It is provisional.
type StreamStepStart struct {
	Model   string `json:"model,omitempty" jsonschema:"the model"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"how often this call was tried before"`
}

// StreamRetry tells that a model call failed and is repeated: what was provisional
// is void. It is provisional itself.
type StreamRetry struct {
	Attempt int    `json:"attempt" jsonschema:"1 for the first repetition"`
	DelayMS int64  `json:"delayMs" jsonschema:"milliseconds until then"`
	Message string `json:"message" jsonschema:"what was wrong"`
}

// StreamNotice is something a person may want to know. It is provisional, but for what was
// found when an agent's session was opened.
type StreamNotice struct {
	Text  string `json:"text" jsonschema:"in words"`
	Title string `json:"title,omitempty" jsonschema:"of a notification"`
	Level string `json:"level,omitempty" jsonschema:"info, warning or error"`
}

// StreamToolCall is a tool call that the model wants; it may yet be denied.
type StreamToolCall struct {
	ToolCallID string      `json:"toolCallId" jsonschema:"the call"`
	ToolName   string      `json:"toolName" jsonschema:"the tool"`
	Args       string      `json:"args" jsonschema:"its input, as the text of a JSON value"`
	Cut        *Truncation `json:"cut,omitempty" jsonschema:"args was cut"`
}

// StreamToolStart tells that a tool call was allowed and starts.
type StreamToolStart struct {
	ToolCallID string `json:"toolCallId" jsonschema:"the call"`
	ToolName   string `json:"toolName" jsonschema:"the tool"`
}

// StreamToolFinish tells how a tool call ended; its tool-result follows.
type StreamToolFinish struct {
	ToolCallID string              `json:"toolCallId" jsonschema:"the call"`
	ToolName   string              `json:"toolName" jsonschema:"the tool"`
	Status     string              `json:"status" jsonschema:"completed, error, unknown (the program stopped while it ran) or not-run"`
	DurationMS int64               `json:"durationMs" jsonschema:"how long it ran"`
	ExitCode   *int                `json:"exitCode,omitempty" jsonschema:"of a command"`
	Changes    []record.FileChange `json:"changes,omitempty" jsonschema:"files that the tool itself has changed"`
}

// StreamToolResult is what the model is told of a tool call.
type StreamToolResult struct {
	ToolCallID string      `json:"toolCallId" jsonschema:"the call"`
	Output     string      `json:"output" jsonschema:"what the model is told"`
	Status     string      `json:"status" jsonschema:"completed or error"`
	Error      string      `json:"error,omitempty" jsonschema:"the output, of an error"`
	Cut        *Truncation `json:"cut,omitempty" jsonschema:"output was cut"`
}

// StreamRetention tells that the transcript was rewritten: what was there before
// stays in the log.
type StreamRetention struct {
	Event Retention `json:"event" jsonschema:"what was done"`
}

// Retention is a rewrite of an agent's transcript.
type Retention struct {
	Kind     string `json:"kind" jsonschema:"compaction, redaction, repair, truncate or mutator"`
	By       string `json:"by,omitempty" jsonschema:"what did it"`
	Retained int    `json:"recordsRetained" jsonschema:"items that the transcript has afterwards"`
}

// AgentOutput is an answer of a model, when it is on record.
type AgentOutput struct {
	Place

	AgentName    string      `json:"agentName" jsonschema:"the agent"`
	Model        string      `json:"model,omitempty" jsonschema:"the model that answered"`
	Text         string      `json:"text" jsonschema:"the answer; empty when the model only calls tools"`
	Thinking     string      `json:"thinking,omitempty" jsonschema:"the model's thinking, where it is readable"`
	Usage        Usage       `json:"usage" jsonschema:"tokens of the model call"`
	ItemID       string      `json:"itemId" jsonschema:"the transcript item"`
	FinishReason string      `json:"finishReason,omitempty" jsonschema:"stop, tool_use, max_tokens, cancelled, refusal or error"`
	Cut          *Truncation `json:"cut,omitempty" jsonschema:"text was cut"`
}

// AgentInput is what an agent was told, by a person or by the runtime.
type AgentInput struct {
	Place

	AgentName string      `json:"agentName" jsonschema:"the agent"`
	Text      string      `json:"text" jsonschema:"what it was told"`
	Role      string      `json:"role" jsonschema:"user, or notification: a message of the runtime"`
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

// streamEvents has an empty event of each type.
var streamEvents = []StreamEvent{
	&StreamText{}, &StreamThinking{}, &StreamToolInput{}, &StreamStepStart{}, &StreamRetry{}, &StreamNotice{},
	&StreamToolCall{}, &StreamToolStart{}, &StreamToolFinish{}, &StreamToolResult{}, &StreamRetention{},
}

// streamTypes are the Go types of the events by name.
var streamTypes = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range streamEvents {
		types[e.EventType()] = reflect.TypeOf(e).Elem()
	}
	return types
})

// streaming is an AgentStreaming whose event is written already.
type streaming struct {
	Place

	AgentName string `json:"agentName"`
	Event     Raw    `json:"event"`
}

// MarshalJSON writes the event with its type.
func (m *AgentStreaming) MarshalJSON() ([]byte, error) {
	if m.Event == nil {
		return nil, errors.New("it has no event")
	}
	event, err := tagged(m.Event.EventType(), m.Event)
	if err != nil {
		return nil, err
	}
	return jsonscan.Marshal(streaming{m.Place, m.AgentName, event})
}

// UnmarshalJSON reads the event as what its type says.
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
	*m = AgentStreaming{Place: s.Place, AgentName: s.AgentName, Event: event}
	return nil
}

// unknownEvent is an event of a daemon that is newer.
type unknownEvent struct{ name string }

func (e *unknownEvent) Error() string {
	return fmt.Sprintf("event: there is no event of type %.60q", strings.ToValidUTF8(e.name, "?"))
}
