package openai

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/transcript"
)

// chunk is one part of a streamed answer, or a complete answer that is not streamed.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int         `json:"index"`
	Delta        deltaPiece  `json:"delta"`
	Message      *deltaPiece `json:"message"` // some servers send this instead of Delta
	FinishReason string      `json:"finish_reason"`
}

type deltaPiece struct {
	Content          text        `json:"content"`
	Refusal          text        `json:"refusal"`
	ReasoningContent text        `json:"reasoning_content"` // vLLM, llama.cpp, DeepSeek
	Reasoning        text        `json:"reasoning"`         // Ollama, OpenRouter, newer vLLM
	ToolCalls        []callPiece `json:"tool_calls"`
}

type callPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // JSON text in a string; some servers send a value
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"` // Gemini's thought signatures, which must be sent back in the next request
}

type usage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	CacheHit      int64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost        *float64 `json:"cost"`    // OpenRouter, in US dollars
	IsBYOK      bool     `json:"is_byok"` // the upstream provider's cost is additional
	CostDetails struct {
		Upstream *float64 `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// cost returns the cost of the answer from the provider, or nil.
func (u *usage) cost() *float64 {
	if u.Cost == nil || math.IsNaN(*u.Cost) {
		return nil
	}
	cost := max(*u.Cost, 0)
	if up := u.CostDetails.Upstream; u.IsBYOK && up != nil {
		cost += max(*up, 0)
	}
	return &cost
}

// text is a string, null, or an array of parts; the texts of the parts are used.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	err := json.Unmarshal(b, &s)
	if err == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return err
	}
	for _, p := range parts {
		*t += text(p.Text)
	}
	return nil
}

// toolCall is a tool call as received so far.
type toolCall struct {
	index     int
	given     string // the server's id, or ""
	id, name  string
	arguments []byte
	extra     json.RawMessage
}

// answer builds an answer from chunks. Chunks are untrusted. In any order and with any values, they
// must not cause anything worse than a wrong answer.
type answer struct {
	model                   string
	usage                   transcript.Usage
	cost                    *float64
	thinking, text, refusal strings.Builder
	calls                   []*toolCall
	finishReason            string
}

func (a *answer) empty() bool {
	return a.thinking.Len() == 0 && a.text.Len() == 0 && a.refusal.Len() == 0 && len(a.calls) == 0
}

// take adds a chunk and emits the parts that the caller can already use. It reports whether the caller
// wants more.
func (a *answer) take(c *chunk, emit func(model.Event) bool) bool {
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage, a.cost = c.Usage.transcriptUsage(), c.Usage.cost()
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one answer was requested
		}
		p := &ch.Delta
		if ch.Message != nil {
			p = ch.Message
		}
		if !a.add(p, emit) {
			return false
		}
		if ch.FinishReason != "" {
			a.finishReason = ch.FinishReason
		}
	}
	return true
}

// transcriptUsage subtracts the cached tokens from the tokens of the prompt, because the API includes them
// there.
func (u *usage) transcriptUsage() transcript.Usage {
	read := max(u.PromptDetails.Cached, u.CacheHit, 0)
	write := max(u.PromptDetails.CacheWrite, 0)
	return transcript.Usage{
		Input:      max(u.Prompt-read-write, 0),
		Output:     max(u.Completion, 0),
		CacheRead:  read,
		CacheWrite: write,
		Reasoning:  max(u.CompletionDetails.Reasoning, 0),
	}
}

func (a *answer) add(p *deltaPiece, emit func(model.Event) bool) bool {
	reasoning := p.ReasoningContent
	if reasoning == "" {
		reasoning = p.Reasoning // if a server sends both, both have the same content
	}
	if reasoning != "" {
		a.thinking.WriteString(string(reasoning))
		if !emit(model.ThinkingDelta{Text: string(reasoning)}) {
			return false
		}
	}
	if p.Content != "" {
		a.text.WriteString(string(p.Content))
		if !emit(model.TextDelta{Text: string(p.Content)}) {
			return false
		}
	}
	if p.Refusal != "" {
		a.refusal.WriteString(string(p.Refusal))
		if !emit(model.TextDelta{Text: string(p.Refusal)}) {
			return false
		}
	}
	for i := range p.ToolCalls {
		if !a.addCall(&p.ToolCalls[i], emit) {
			return false
		}
	}
	return true
}

func (a *answer) addCall(p *callPiece, emit func(model.Event) bool) bool {
	c := a.callOf(p)
	begun := c == nil
	if begun {
		c = &toolCall{index: len(a.calls), given: p.ID, id: a.freeID(p.ID)}
		if p.Index != nil {
			c.index = *p.Index
		}
		a.calls = append(a.calls, c)
	}
	if c.name == "" {
		c.name = p.Function.Name
	}
	if len(p.Extra) > 0 {
		c.extra = slices.Clone(p.Extra)
	}
	var arguments string
	if raw := p.Function.Arguments; json.Unmarshal(raw, &arguments) != nil {
		arguments = string(raw)
	}
	c.arguments = append(c.arguments, arguments...)
	if !begun && arguments == "" {
		return true
	}
	return emit(model.ToolInputDelta{Use: c.id, Tool: c.name, JSON: arguments})
}

// callOf returns the call that a part continues, or nil. A part without an index is matched by its
// id. A part with no index, id or name continues the last call. A new id starts a new call even if
// its index is known, because some servers give every call the index 0.
func (a *answer) callOf(p *callPiece) *toolCall {
	for _, c := range slices.Backward(a.calls) {
		differs := p.ID != "" && c.given != "" && p.ID != c.given
		switch {
		case p.Index != nil && c.index == *p.Index && !differs,
			p.Index == nil && p.ID != "" && p.ID == c.given,
			p.Index == nil && p.ID == "" && p.Function.Name == "":
			return c
		}
	}
	return nil
}

// freeID returns id, or another id if it is empty or taken.
func (a *answer) freeID(id string) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(a.calls, func(c *toolCall) bool { return c.id == id })
	}
	for n := len(a.calls); id == "" || taken(id); n++ {
		id = "call_" + strconv.Itoa(n)
	}
	return id
}

// item returns the complete answer. Its native form is the message that [adapter.Encode] will send for it.
func (a *answer) item() transcript.Item {
	it := transcript.Item{Role: transcript.RoleAssistant, Model: a.model, Usage: &a.usage, Finish: a.finish()}
	it.Parts = a.texts()
	var uses []byte
	for i, c := range a.calls {
		if it.Finish == transcript.FinishRefusal {
			break // they were truncated, and must not be run
		}
		// If the output limit cut off an input before its first byte, the input is incomplete, not
		// empty.
		cut := a.finishReason == "length" && i == len(a.calls)-1 && len(c.arguments) == 0
		use := c.use(cut)
		it.Parts = append(it.Parts, use)
		if len(uses) > 0 {
			uses = append(uses, ',')
		}
		uses = appendCall(uses, literal(c.id), literal(c.name), use.Input, c.extraContent())
	}
	if message := a.message(uses); message != nil {
		it.Native = &transcript.Native{API: apiName, JSON: message}
	}
	return it
}

// message returns the answer in the form that the API expects in a request, or nil if no part of it
// can be sent.
func (a *answer) message(uses []byte) []byte {
	if a.text.Len() == 0 && a.refusal.Len() == 0 && len(uses) == 0 {
		return nil
	}
	b := []byte(`{"role":"assistant","content":`)
	if a.text.Len() > 0 {
		b = jsonscan.AppendString(b, a.text.String())
	} else {
		b = append(b, "null"...)
	}
	if a.refusal.Len() > 0 {
		b = jsonscan.AppendString(append(b, `,"refusal":`...), a.refusal.String())
	}
	if len(uses) > 0 {
		b = append(append(append(b, `,"tool_calls":[`...), uses...), ']')
	}
	return append(b, '}')
}

func (a *answer) finish() transcript.Finish {
	switch {
	case a.finishReason == "content_filter", a.refusal.Len() > 0:
		return transcript.FinishRefusal
	case len(a.calls) > 0: // some servers send "stop"
		return transcript.FinishToolUse
	case a.finishReason == "length":
		return transcript.FinishMaxTokens
	}
	return transcript.FinishStop
}

// texts returns the thinking and the text of the answer.
func (a *answer) texts() []transcript.Part {
	var parts []transcript.Part
	if a.thinking.Len() > 0 {
		parts = append(parts, transcript.Thinking{Text: a.thinking.String()})
	}
	if s := a.text.String() + a.refusal.String(); s != "" {
		parts = append(parts, transcript.Text{Text: s})
	}
	return parts
}

func (c *toolCall) use(cut bool) transcript.ToolUse {
	use := transcript.ToolUse{ID: c.id, Name: c.name}
	var ok bool
	if use.Input, ok = call.ToolInput(c.arguments); !ok || cut {
		use.Extra = map[string]json.RawMessage{"malformed": json.RawMessage("true")}
	}
	if cut {
		use.Input = json.RawMessage(`""`)
	}
	return use
}

func (c *toolCall) extraContent() []byte {
	if compacted, ok := call.Compact(c.extra); ok && string(compacted) != "null" {
		return compacted
	}
	return nil
}

func literal(s string) []byte { return jsonscan.AppendString(nil, s) }

// partial returns the parts of a broken answer that can be used: text and thinking. It returns nil
// if there are none.
func (a *answer) partial(cancelled bool) *transcript.Item {
	it := &transcript.Item{
		Role: transcript.RoleAssistant, Model: a.model, Usage: &a.usage,
		Finish: transcript.FinishError, Parts: a.texts(),
	}
	if cancelled {
		it.Finish = transcript.FinishCancelled
	}
	if len(it.Parts) == 0 {
		return nil
	}
	return it
}
