package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/model/internal/modelfacts"
)

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// The text between the encoded items of a body.
var (
	firstUser      = []byte(`{"role":"user","content":[`)
	firstAssistant = []byte(`{"role":"user","content":[{"type":"text","text":"(earlier messages are omitted)"}]},` +
		`{"role":"assistant","content":[`) // the API requires a user message first
	nextUser      = []byte(`]},{"role":"user","content":[`)
	nextAssistant = []byte(`]},{"role":"assistant","content":[`)
	nextBlock     = []byte(`,`)
	marked        = []byte(cacheMark + `}`)
	end           = []byte(`]}]}`)
	endEmpty      = []byte(`]}`)
)

// thinkingBudgets are the numbers of thinking tokens by effort, for models with a budget.
var thinkingBudgets = map[string]int{"low": 1024, "medium": 5120, "high": 10240}

// body puts a request together:
//
//	{"model":…,"max_tokens":…,"stream":true,  "thinking":…,  "system":…,"tools":…,  "messages":[ wires ]}
//	 written per request                      if asked for   written once           not copied
//
// There is a cache mark on the last tool, on the system text, and on the last block of each of the
// last two messages. Marks are not part of an encoded item, because in the next request they are at
// other places.
func (m *adapter) body(req *model.Request) *call.Body {
	b := &call.Body{}
	b.Grow(2*len(req.Messages) + 8)
	b.Add(m.settings(req))
	b.Add(m.heads.Get(req, encodeHead))
	b.Add([]byte(`,"messages":[`))

	wires := req.Messages
	marks := cacheMarks(wires)
	role := ""
	for i, w := range wires {
		if len(w.JSON) == 0 {
			continue
		}
		b.Add(separator(role, w.Role))
		role = w.Role
		if slices.Contains(marks, i) {
			addMarked(b, w.JSON)
		} else {
			b.Add(w.JSON)
		}
	}
	if role == "" {
		b.Add(endEmpty)
	} else {
		b.Add(end)
	}
	return b
}

func separator(last, role string) []byte {
	switch {
	case last == role:
		return nextBlock
	case last == "" && role == roleUser:
		return firstUser
	case last == "":
		return firstAssistant
	case role == roleUser:
		return nextUser
	}
	return nextAssistant
}

// cacheMarks returns the indexes of the encoded items that end the last two messages.
func cacheMarks(wires []model.EncodedItem) []int {
	var marks []int
	role := ""
	for i := len(wires) - 1; i >= 0 && len(marks) < 2; i-- {
		if w := wires[i]; len(w.JSON) > 0 && w.Role != role {
			role = w.Role
			marks = append(marks, i)
		}
	}
	return marks
}

// addMarked adds an encoded item, with a cache mark on its last block that supports one. Thinking
// blocks and unknown blocks do not support a cache mark.
func addMarked(b *call.Body, wire []byte) {
	at := -1 // of the brace that ends the block
	for start, block := range call.Objects(wire) {
		p := jsonscan.Object(block)
		switch p.Type() {
		case "text", "image", "document", "tool_use", "tool_result":
			at = start + len(block) - 1
		}
	}
	if at < 0 {
		b.Add(wire)
		return
	}
	b.Add(wire[:at])
	b.Add(marked)
	b.Add(wire[at+1:])
}

func (m *adapter) settings(req *model.Request) []byte {
	maxTokens := m.maxTokens
	if req.MaxTokens > 0 {
		maxTokens = req.MaxTokens
	}
	thinking := ""
	switch budget := thinkingBudgets[req.Effort]; {
	case m.thinking == modelfacts.Preserved:
		// These models think by default. They reject thinking if the history before it has changed,
		// as it does in a compaction.
		thinking = `,"thinking":{"type":"adaptive","display":"summarized",` +
			`"block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
	case req.Effort == "":
	case m.thinking == modelfacts.Adaptive:
		thinking = `,"thinking":{"type":"adaptive","display":"summarized"}`
	case budget > 0 && canThink(req.Messages):
		if maxTokens <= budget { // the budget is part of the answer's tokens
			maxTokens += budget
		}
		thinking = `,"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`
	}
	if req.Effort != "" && m.thinking != modelfacts.Budget {
		thinking += `,"output_config":{"effort":` + quoted(req.Effort) + `}`
	}
	s := make([]byte, 0, 320)
	s = append(s, `{"model":`...)
	s = jsonscan.AppendString(s, m.info.Model)
	s = append(s, `,"max_tokens":`...)
	s = strconv.AppendInt(s, int64(maxTokens), 10)
	s = append(s, `,"stream":true`...)
	return append(s, thinking...)
}

func quoted(s string) string { return string(jsonscan.AppendString(nil, s)) }

// canThink reports whether the request may ask for thinking with a budget. In a tool round, the
// provider requires that the answer which started the round begins with thinking. An answer of
// another model does not begin with it.
func canThink(wires []model.EncodedItem) bool {
	last := -1 // the first encoded item of the last assistant message
	for i, w := range slices.Backward(wires) {
		switch {
		case len(w.JSON) == 0:
		case w.Role == roleAssistant:
			last = i
		case last >= 0:
			return beginsWithThinking(wires[last].JSON)
		case !bytes.HasPrefix(w.JSON, []byte(`{"type":"tool_result"`)):
			return true // a new user message
		}
	}
	return last < 0 || beginsWithThinking(wires[last].JSON)
}

func beginsWithThinking(answer []byte) bool {
	return bytes.HasPrefix(answer, []byte(`{"type":"thinking"`)) ||
		bytes.HasPrefix(answer, []byte(`{"type":"redacted_thinking"`))
}

// encodeHead encodes the part of the body before the messages, which rarely changes.
func encodeHead(req *model.Request) []byte {
	var b []byte
	if req.System != "" {
		b = append(b, `,"system":[{"type":"text","text":`...)
		b = jsonscan.AppendString(b, req.System)
		b = append(b, cacheMark+`}]`...)
	}
	for i, t := range req.Tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = jsonscan.AppendString(b, t.Name)
		if t.Description != "" {
			b = append(b, `,"description":`...)
			b = jsonscan.AppendString(b, t.Description)
		}
		b = append(b, `,"input_schema":`...)
		if len(t.Input) == 0 {
			b = append(b, `{"type":"object"}`...)
		} else {
			b = append(b, t.Input...)
		}
		if i == len(req.Tools)-1 {
			b = append(b, cacheMark+`}]`...)
		} else {
			b = append(b, '}')
		}
	}
	return b
}
