package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrUnknownType is returned by [Unmarshal] for a type that this version does not know.
var ErrUnknownType = errors.New("unknown event type")

// maxDepth is the maximum nesting depth of sub-agents' events.
const maxDepth = 4

// envelope has the type of an event and the fields with a custom encoding.
type envelope struct {
	Type    string          `json:"type"`
	Error   *Error          `json:"error,omitempty"`
	TookMS  int64           `json:"took_ms,omitempty"`
	ModelMS int64           `json:"took_model_ms,omitempty"`
	DelayMS int64           `json:"delay_ms,omitempty"`
	Item    json.RawMessage `json:"item,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"`
	Content json.RawMessage `json:"content,omitempty"` // an array of parts
}

// Marshal returns the JSON form of an event: one object with "type".
func Marshal(e Event) ([]byte, error) {
	if e == nil {
		return nil, errors.New("the event is nil")
	}
	h := envelope{Type: e.Type(), Error: errorOf(Err(e))}
	var err error
	switch e := e.(type) {
	case ItemAppended:
		h.Item = e.Item.JSON
	case ToolFinished:
		h.Content, err = encodeParts(e.Content)
	case UsageUpdated:
		h.TookMS = e.Duration.Milliseconds()
	case ModelRetrying:
		h.DelayMS = e.Delay.Milliseconds()
	case ModelFinished:
		h.TookMS = e.Duration.Milliseconds()
	case Result:
		h.TookMS, h.ModelMS = e.Duration.Milliseconds(), e.ModelDuration.Milliseconds()
	case SubagentEvent:
		h.Error = nil // the error belongs to the inner event
		h.Event, err = Marshal(e.Event)
	}
	if err != nil {
		return nil, err
	}
	out, err := jsonscan.Marshal(h)
	if err != nil {
		return nil, err
	}
	rest, err := jsonscan.Marshal(e)
	if err != nil || len(rest) <= len("{}") {
		return out, err
	}
	out[len(out)-1] = ','
	return append(out, rest[1:]...), nil
}

func encodeParts(list []transcript.Part) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b, err := (transcript.Item{ID: "result", Role: transcript.RoleUser, Parts: list}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var item struct {
		Parts json.RawMessage `json:"parts"`
	}
	err = json.Unmarshal(b, &item)
	return item.Parts, err
}

// Unmarshal reads the JSON form of an event. The error of an event becomes an [*Error].
func Unmarshal(b []byte) (Event, error) { return unmarshal(b, maxDepth) }

func unmarshal(b []byte, depth int) (Event, error) {
	var h envelope
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	read := decoders[h.Type]
	switch {
	case read == nil:
		return nil, fmt.Errorf("%w: %.60q", ErrUnknownType, h.Type)
	case depth == 0:
		return nil, fmt.Errorf("event %s: nested in more than %d events", h.Type, maxDepth-1)
	}
	e, err := read(b)
	if err == nil {
		e, err = h.complete(e, depth)
	}
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", h.Type, err)
	}
	return WithErr(e, h.errorFor(e)), nil
}

// errorFor returns the error of an event. For a SubagentEvent it is the error of the inner event.
func (h *envelope) errorFor(e Event) error {
	if _, ok := e.(SubagentEvent); ok {
		return Err(e)
	}
	return h.Error.err()
}

// complete fills in the fields with a custom encoding.
func (h *envelope) complete(e Event, depth int) (Event, error) {
	for _, ms := range []int64{h.TookMS, h.ModelMS, h.DelayMS} {
		if ms > math.MaxInt64/int64(time.Millisecond) || ms < math.MinInt64/int64(time.Millisecond) {
			return nil, fmt.Errorf("%d ms is out of range", ms)
		}
	}
	took, delay := time.Duration(h.TookMS)*time.Millisecond, time.Duration(h.DelayMS)*time.Millisecond
	var err error
	switch e := e.(type) {
	case ItemAppended:
		if h.Item != nil {
			err = e.Item.Parse(h.Item)
		}
		return e, err
	case ToolFinished:
		e.Content, err = decodeParts(h.Content)
		return e, err
	case UsageUpdated:
		e.Duration = took
		return e, nil
	case ModelRetrying:
		e.Delay = delay
		return e, nil
	case ModelFinished:
		e.Duration = took
		return e, nil
	case Result:
		e.Duration, e.ModelDuration = took, time.Duration(h.ModelMS)*time.Millisecond
		return e, nil
	case SubagentEvent:
		if h.Event == nil {
			return nil, errors.New("the field event is missing")
		}
		e.Event, err = unmarshal(h.Event, depth-1)
		return e, err
	}
	return e, nil
}

func decodeParts(list json.RawMessage) ([]transcript.Part, error) {
	if list == nil {
		return nil, nil
	}
	var it transcript.Item
	b := append([]byte(`{"role":"user","id":"result","parts":`), list...)
	err := it.UnmarshalJSON(append(b, '}'))
	return it.Parts, err
}

// decoders has, for each event type, the function that decodes its fields without a custom
// encoding.
var decoders = map[string]func([]byte) (Event, error){
	"session_opened":     read[SessionOpened],
	"turn_started":       read[TurnStarted],
	"text_delta":         read[TextDelta],
	"thinking_delta":     read[ThinkingDelta],
	"tool_input_delta":   read[ToolInputDelta],
	"tool_output_delta":  read[ToolOutputDelta],
	"item_appended":      read[ItemAppended],
	"decided":            read[DecisionMade],
	"approval_asked":     read[ApprovalAsked],
	"approval_resolved":  read[ApprovalResolved],
	"policy_changed":     read[PolicyChanged],
	"tool_started":       read[ToolStarted],
	"tool_finished":      read[ToolFinished],
	"subagent":           read[SubagentEvent],
	"tools_changed":      read[ToolsChanged],
	"compacting":         read[CompactionStarted],
	"mutation_finished":  read[TranscriptRewritten],
	"usage_updated":      read[UsageUpdated],
	"retrying":           read[ModelRetrying],
	"model_switched":     read[ModelSwitched],
	"hook_ran":           read[HookRan],
	"terminal_sequences": read[TerminalSequences],
	"notified":           read[Notification],
	"model_started":      read[ModelStarted],
	"model_finished":     read[ModelFinished],
	"notice":             read[Notice],
	"turn_finished":      read[TurnFinished],
	"result":             read[Result],
}

func read[E Event](b []byte) (Event, error) {
	var e E
	err := json.Unmarshal(b, &e)
	return e, err
}
