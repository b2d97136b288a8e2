package anthropic

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/transcript"
)

// event is one server-sent event, with the fields of all types. Unknown types and fields are ignored, as
// the API's versioning rules require.
type event struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      *message        `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        delta           `json:"delta"`
	Usage        *usage          `json:"usage"`
}

type message struct {
	Model string `json:"model"`
	Usage *usage `json:"usage"`
}

type delta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
	StopReason  string          `json:"stop_reason"`
}

type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// foreign reports whether err, the error from parsing the event, can be ignored because the event
// is JSON of an unknown type.
func (e *event) foreign(err error) bool {
	var mismatch *json.UnmarshalTypeError
	switch e.Type {
	case "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error":
		return false
	}
	return errors.As(err, &mismatch)
}

// block is a content block as received so far.
type block struct {
	index     int
	kind      string
	start     json.RawMessage // the first JSON received for it; all of it if the kind is unknown
	text      []byte          // of text and thinking
	signature []byte
	data      string // of redacted thinking
	id, name  string
	input     []byte // JSON text of a tool's input
	citations []json.RawMessage
}

// answer builds an answer from events. Events are untrusted. In any order and with any values, they
// must not cause anything worse than a wrong answer.
type answer struct {
	model      string
	usage      transcript.Usage
	blocks     []*block
	stopReason string
	done       bool
}

// add adds an event and emits the parts that the caller can already use. It reports whether the caller
// wants more.
func (a *answer) add(e *event, emit func(model.Event) bool) bool {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			if e.Message.Model != "" {
				a.model = e.Message.Model
			}
			a.count(e.Message.Usage)
		}
	case "content_block_start":
		return a.begin(e, emit)
	case "content_block_delta":
		return a.extend(e, emit)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stopReason = e.Delta.StopReason
		}
		a.count(e.Usage)
	case "message_stop":
		a.done = true
	}
	return true
}

// count records usage. The numbers of one answer are totals, so only the last ones apply.
func (a *answer) count(u *usage) {
	if u == nil {
		return
	}
	set := func(dst, v *int64) {
		if v != nil {
			*dst = max(*v, 0)
		}
	}
	set(&a.usage.Input, u.Input)
	set(&a.usage.Output, u.Output)
	set(&a.usage.CacheRead, u.CacheRead)
	set(&a.usage.CacheWrite, u.CacheWrite)
	set(&a.usage.Reasoning, u.Details.Thinking)
}

func (a *answer) begin(e *event, emit func(model.Event) bool) bool {
	var s struct {
		Type, Text, Thinking, Signature, Data, ID, Name string
		Input                                           json.RawMessage
		Citations                                       []json.RawMessage
	}
	if json.Unmarshal(e.ContentBlock, &s) != nil {
		return true
	}
	b := &block{
		index: e.Index, kind: s.Type, start: slices.Clone(e.ContentBlock), data: s.Data,
		signature: []byte(s.Signature), name: s.Name, citations: s.Citations,
	}
	a.blocks = append(a.blocks, b)
	switch b.kind {
	case "text":
		return b.grow(s.Text, emit)
	case "thinking":
		return b.grow(s.Thinking, emit)
	case "tool_use":
		b.id = a.freeID(s.ID)
		if in := string(s.Input); in != "" && in != "{}" && in != "null" {
			b.input = []byte(in)
		}
		return emit(model.ToolInputDelta{Use: b.id, Tool: b.name, JSON: string(b.input)})
	}
	return true
}

// freeID returns id, or another id if it is empty or taken.
func (a *answer) freeID(id string) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(a.blocks, func(b *block) bool { return b.id == id })
	}
	for n := len(a.blocks); id == "" || taken(id); n++ {
		id = "call_" + strconv.Itoa(n)
	}
	return id
}

func (a *answer) extend(e *event, emit func(model.Event) bool) bool {
	var b *block
	for i := len(a.blocks) - 1; i >= 0 && b == nil; i-- {
		if a.blocks[i].index == e.Index {
			b = a.blocks[i]
		}
	}
	if b == nil {
		return true
	}
	switch e.Delta.Type {
	case "text_delta":
		return b.grow(e.Delta.Text, emit)
	case "thinking_delta":
		return b.grow(e.Delta.Thinking, emit)
	case "signature_delta":
		b.signature = append(b.signature, e.Delta.Signature...)
	case "citations_delta":
		b.citations = append(b.citations, slices.Clone(e.Delta.Citation))
	case "input_json_delta":
		b.input = append(b.input, e.Delta.PartialJSON...)
		if b.kind == "tool_use" && e.Delta.PartialJSON != "" {
			return emit(model.ToolInputDelta{Use: b.id, Tool: b.name, JSON: e.Delta.PartialJSON})
		}
	}
	return true
}

func (b *block) grow(text string, emit func(model.Event) bool) bool {
	if text == "" {
		return true
	}
	b.text = append(b.text, text...)
	switch b.kind {
	case "text":
		return emit(model.TextDelta{Text: text})
	case "thinking":
		return emit(model.ThinkingDelta{Text: text})
	}
	return true
}

// item returns the complete answer. Its native form is an array of the blocks that [adapter.Encode] will
// send for it.
func (a *answer) item() transcript.Item {
	it := transcript.Item{Role: transcript.RoleAssistant, Model: a.model, Usage: &a.usage, Finish: finish(a.stopReason)}
	native := []byte{'['}
	for i, b := range a.blocks {
		if b.kind == "tool_use" && it.Finish == transcript.FinishRefusal {
			continue // it was truncated, and must not be run
		}
		// If the output limit cut off an input before its first byte, the input is incomplete, not
		// empty.
		cut := it.Finish == transcript.FinishMaxTokens && i == len(a.blocks)-1 && len(b.input) == 0
		part, wire := b.finish(cut)
		if part != nil {
			it.Parts = append(it.Parts, part)
		}
		if len(wire) > 0 {
			if len(native) > 1 {
				native = append(native, ',')
			}
			native = append(native, wire...)
		}
	}
	if it.Finish != transcript.FinishRefusal && len(it.ToolUses()) > 0 {
		it.Finish = transcript.FinishToolUse
	}
	it.Native = &transcript.Native{API: apiName, JSON: append(native, ']')}
	return it
}

// finish converts a stop reason of the API to a [transcript.Finish]. pause_turn and a full context
// are handled like max_tokens: the request is continued.
func finish(reason string) transcript.Finish {
	switch reason {
	case "tool_use":
		return transcript.FinishToolUse
	case "max_tokens", "pause_turn", "model_context_window_exceeded":
		return transcript.FinishMaxTokens
	case "refusal":
		return transcript.FinishRefusal
	}
	return transcript.FinishStop
}

// finish returns the neutral form and the native form of a block; either may be missing.
func (b *block) finish(cut bool) (transcript.Part, []byte) {
	switch b.kind {
	case "text":
		if len(b.text) == 0 {
			return nil, nil
		}
		w := jsonscan.AppendString([]byte(`{"type":"text","text":`), string(b.text))
		if len(b.citations) > 0 {
			if c, err := json.Marshal(b.citations); err == nil {
				w = append(append(w, `,"citations":`...), c...)
			}
		}
		return transcript.Text{Text: string(b.text)}, append(w, '}')
	case "thinking":
		if len(b.text) == 0 && len(b.signature) == 0 {
			return nil, nil
		}
		w := jsonscan.AppendString([]byte(`{"type":"thinking","thinking":`), string(b.text))
		w = jsonscan.AppendString(append(w, `,"signature":`...), string(b.signature))
		return transcript.Thinking{Text: string(b.text), Signature: string(b.signature)}, append(w, '}')
	case "redacted_thinking":
		w := jsonscan.AppendString([]byte(`{"type":"redacted_thinking","data":`), b.data)
		return transcript.Thinking{Data: b.data, Redacted: true}, append(w, '}')
	case "tool_use":
		return b.toolUse(cut)
	}
	return b.unknown()
}

func (b *block) toolUse(cut bool) (transcript.Part, []byte) {
	use := transcript.ToolUse{ID: b.id, Name: b.name}
	var ok bool
	if use.Input, ok = call.ToolInput(b.input); !ok || cut {
		use.Extra = map[string]json.RawMessage{"malformed": json.RawMessage("true")}
	}
	if cut {
		use.Input = json.RawMessage(`""`)
	}
	w := appendID([]byte(`{"type":"tool_use","id":"`), []byte(b.id))
	w = jsonscan.AppendString(append(w, `","name":`...), b.name)
	w = call.AppendInput(append(w, `,"input":`...), use.Input)
	return use, append(w, '}')
}

// unknown returns a block of an unknown kind, with its input if it is a tool use of the provider.
func (b *block) unknown() (transcript.Part, []byte) {
	raw := b.start
	if input, ok := call.ToolInput(b.input); ok && len(b.input) > 0 {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) == nil {
			members["input"] = input
			if w, err := json.Marshal(members); err == nil {
				raw = w
			}
		}
	}
	compacted, ok := call.Compact(raw)
	if !ok || len(compacted) == 0 || compacted[0] != '{' {
		return nil, nil
	}
	switch b.kind {
	case "", "tool_result", "media", "file", "structured", "custom": // they have a different meaning in a transcript
		return nil, compacted
	}
	return transcript.Unknown{Type: b.kind, JSON: compacted}, compacted
}

// partial returns the parts of a broken answer that can be used: text and thinking. It returns nil
// if there are none.
func (a *answer) partial(cancelled bool) *transcript.Item {
	it := &transcript.Item{Role: transcript.RoleAssistant, Model: a.model, Usage: &a.usage, Finish: transcript.FinishError}
	if cancelled {
		it.Finish = transcript.FinishCancelled
	}
	for _, b := range a.blocks {
		if b.kind == "text" || b.kind == "thinking" {
			if part, _ := b.finish(false); part != nil {
				it.Parts = append(it.Parts, part)
			}
		}
	}
	if len(it.Parts) == 0 {
		return nil
	}
	return it
}
