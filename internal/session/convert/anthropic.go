package convert

import (
	"encoding/base64"

	"github.com/holdfast-dev/holdfast/transcript"
)

// The content of a message in the form of the Anthropic API, which Claude Code and the Open
// Agent SDK store. Blocks of unknown types become custom parts.

// partsOf reads a message's content: a string, or an array of blocks.
func partsOf(content []byte) []part {
	if isString(content) {
		if len(content) == 2 {
			return nil
		}
		return []part{textPart(content)}
	}
	var parts []part
	elements(content, func(block []byte) bool {
		if string(block) != `""` { // an empty text has no content, alone or in a list
			parts = append(parts, partOf(block))
		}
		return true
	})
	return parts
}

// block has the members of a content block that this package uses.
type block struct {
	typ                                                  string
	text, thinking, signature, data                      []byte
	id, name, input, useID, content, isError, source, ti []byte
}

func readBlock(raw []byte) (b block) {
	eachMember(raw, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			b.typ = text(v)
		case "text":
			b.text = v
		case "thinking":
			b.thinking = v
		case "signature":
			b.signature = v
		case "data":
			b.data = v
		case "id":
			b.id = v
		case "name":
			b.name = v
		case "input":
			b.input = v
		case "tool_use_id":
			b.useID = v
		case "content":
			b.content = v
		case "is_error":
			b.isError = v
		case "source":
			b.source = v
		case "title":
			b.ti = v
		}
		return true
	})
	return b
}

// partOf reads a block; a string in place of a block is a text.
func partOf(raw []byte) part {
	if isString(raw) {
		return textPart(raw)
	}
	b := readBlock(raw)
	switch b.typ {
	case "text":
		if isString(b.text) {
			return textPart(b.text)
		}
	case "thinking":
		if isString(b.thinking) {
			j := append([]byte(nil), `{"type":"thinking"`...)
			j = appendField(j, `,"text":`, b.thinking)
			j = appendField(j, `,"signature":`, b.signature)
			return part{json: append(j, '}')}
		}
	case "redacted_thinking":
		if isString(b.data) {
			j := appendField([]byte(`{"type":"thinking"`), `,"data":`, b.data)
			return part{json: append(j, `,"redacted":true}`...)}
		}
	case "tool_use":
		if id := text(b.id); id != "" && (b.name == nil || isString(b.name)) {
			return usePart(id, b.name, b.input, raw)
		}
	case "tool_result":
		if id := text(b.useID); id != "" {
			return resultPart(id, resultContent(b.content), isTrue(b.isError), raw)
		}
	case "image", "document":
		if p, ok := mediaOf(b); ok {
			return p
		}
	}
	return customPart("anthropic/"+b.typ, raw)
}

// appendField writes a member whose value is a non-empty string.
func appendField(b []byte, name string, lit []byte) []byte {
	if !isString(lit) || len(lit) == 2 {
		return b
	}
	return append(append(b, name...), lit...)
}

// resultContent reads the content of a tool result.
func resultContent(content []byte) []part {
	parts := partsOf(content)
	for i, p := range parts {
		if p.use != "" || p.result != "" { // parts of this type are not allowed in a result
			parts[i] = customPart("anthropic", p.raw)
		}
	}
	return parts
}

// mediaOf reads an image or a document.
func mediaOf(b block) (part, bool) {
	var typ string
	var mime, data, uri []byte
	eachMember(b.source, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			typ = text(v)
		case "media_type":
			mime = v
		case "data":
			data = v
		case "url":
			uri = v
		}
		return true
	})
	j := []byte(`{"type":"media"`)
	if b.typ == "document" {
		j = appendField([]byte(`{"type":"file"`), `,"name":`, b.ti)
	}
	j = appendField(j, `,"mime":`, mime)
	switch {
	case typ == "base64" && isBase64(data):
		j = appendField(j, `,"data":`, data)
	case typ == "url" && isString(uri):
		j = appendField(j, `,"uri":`, uri)
	case typ == "text" && b.typ == "document" && isString(data):
		s, ok := str(data)
		if !ok {
			return part{}, false
		}
		j = append(j, `,"data":"`...)
		j = base64.StdEncoding.AppendEncode(j, []byte(s))
		j = append(j, '"')
	default:
		return part{}, false
	}
	return part{json: append(j, '}')}, true
}

// isBase64 reports whether a literal contains only standard base64.
func isBase64(lit []byte) bool {
	if !isString(lit) || (len(lit)-2)%4 != 0 {
		return false
	}
	s := lit[1 : len(lit)-1]
	for len(s) > 0 && s[len(s)-1] == '=' && len(lit)-2-len(s) < 2 {
		s = s[:len(s)-1]
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}

// usageOf reads the usage of a call, as Anthropic counts it.
func usageOf(v []byte) *transcript.Usage {
	if !isObject(v) {
		return nil
	}
	var u transcript.Usage
	eachMember(v, func(key, v []byte) bool {
		switch string(key) {
		case "input_tokens":
			u.Input = number(v)
		case "output_tokens":
			u.Output = number(v)
		case "cache_read_input_tokens":
			u.CacheRead = number(v)
		case "cache_creation_input_tokens":
			u.CacheWrite = number(v)
		}
		return true
	})
	return &u
}

// finishOf maps a stop reason.
func finishOf(lit []byte) transcript.Finish {
	switch text(lit) {
	case "end_turn", "stop_sequence":
		return transcript.FinishStop
	case "tool_use":
		return transcript.FinishToolUse
	case "max_tokens", "pause_turn", "model_context_window_exceeded":
		return transcript.FinishMaxTokens
	case "refusal":
		return transcript.FinishRefusal
	}
	return ""
}

// modelOf returns a model's name, or nil if the field has no name: some programs write a marker in
// angle brackets instead.
func modelOf(lit []byte) []byte {
	if !isString(lit) || len(lit) == 2 || lit[1] == '<' {
		return nil
	}
	return lit
}
