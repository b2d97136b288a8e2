package openai

import (
	"bytes"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
)

var (
	comma = []byte(",")
	end   = []byte("]}")
)

// body puts a request together:
//
//	{"model":…,"stream":true,…,  "tools":…,"messages":[{"role":"system",…},  wires ]}
//	 written per request         written once                               not copied
func (m *adapter) body(req *model.Request) *call.Body {
	b := &call.Body{}
	b.Grow(2*len(req.Messages) + 8)
	b.Add(m.settings(req))
	b.Add(m.heads.Get(req, encodeHead))
	first := req.System == ""
	add := func(message []byte) {
		if len(message) == 0 {
			return
		}
		if !first {
			b.Add(comma)
		}
		first = false
		b.Add(message)
	}
	var media [][]byte // of the tool round that is being encoded
	for _, w := range req.Messages {
		if w.Role != roleTool && w.Role != roleToolMedia && len(w.JSON) > 0 {
			for _, shown := range media {
				add(shown)
			}
			media = media[:0]
		}
		if w.Role != roleToolMedia {
			add(w.JSON)
			continue
		}
		results, shown, _ := bytes.Cut(w.JSON, []byte("\n"))
		add(results)
		media = append(media, shown)
	}
	for _, shown := range media {
		add(shown)
	}
	b.Add(end)
	return b
}

func (m *adapter) settings(req *model.Request) []byte {
	s := make([]byte, 0, 160)
	s = append(s, `{"model":`...)
	s = jsonscan.AppendString(s, m.info.Model)
	s = append(s, `,"stream":true,"stream_options":{"include_usage":true}`...)
	if m.reportsCost {
		s = append(s, `,"usage":{"include":true}`...)
	}
	maxTokens := m.maxTokens
	if req.MaxTokens > 0 {
		maxTokens = req.MaxTokens
	}
	if maxTokens > 0 {
		// OpenAI's reasoning models reject the older name. Other servers do not know the newer
		// name.
		name := `,"max_tokens":`
		if m.official {
			name = `,"max_completion_tokens":`
		}
		s = strconv.AppendInt(append(s, name...), int64(maxTokens), 10)
	}
	if req.Effort != "" {
		s = jsonscan.AppendString(append(s, `,"reasoning_effort":`...), req.Effort)
	}
	return s
}

// encodeHead encodes the part of the body before the messages, which rarely changes.
func encodeHead(req *model.Request) []byte {
	var b []byte
	for i, t := range req.Tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = jsonscan.AppendString(b, t.Name)
		if t.Description != "" {
			b = append(b, `,"description":`...)
			b = jsonscan.AppendString(b, t.Description)
		}
		b = append(b, `,"parameters":`...)
		if len(t.Input) == 0 {
			b = append(b, `{"type":"object"}`...)
		} else {
			b = append(b, t.Input...)
		}
		b = append(b, "}}"...)
		if i == len(req.Tools)-1 {
			b = append(b, ']')
		}
	}
	b = append(b, `,"messages":[`...)
	if req.System != "" {
		b = append(b, `{"role":"system","content":`...)
		b = jsonscan.AppendString(b, req.System)
		b = append(b, '}')
	}
	return b
}
