package convert

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/transcript"
)

// responseItem reads an item of the Responses API, or returns nil for one that is not sent to
// models.
func responseItem(raw []byte) *item {
	var typ string
	var role, content, summary, encrypted, callID, id, name, arguments, output, input, action []byte
	eachMember(raw, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			typ = text(v)
		case "role":
			role = v
		case "content":
			content = v
		case "summary":
			summary = v
		case "encrypted_content":
			encrypted = v
		case "call_id":
			callID = v
		case "id":
			id = v
		case "name":
			name = v
		case "arguments":
			arguments = v
		case "output":
			output = v
		case "input":
			input = v
		case "action":
			action = v
		}
		return true
	})
	call := text(callID)
	if call == "" {
		call = text(id)
	}
	answer := func(p ...part) *item { return &item{role: transcript.RoleAssistant, parts: p} }
	switch typ {
	case "message":
		return messageItem(text(role), content)
	case "reasoning":
		return answer(reasoningPart(summary, content, encrypted))
	case "function_call":
		if call != "" && (name == nil || isString(name)) {
			return answer(usePart(call, name, argumentsOf(arguments), raw))
		}
	case "custom_tool_call":
		if call != "" && isString(input) && (name == nil || isString(name)) {
			return answer(usePart(call, name, wrapped("input", input), raw))
		}
	case "local_shell_call":
		if call != "" && isObject(action) {
			return answer(usePart(call, []byte(`"local_shell"`), action, raw))
		}
	case "function_call_output", "custom_tool_call_output":
		if call != "" {
			body, isError := outputOf(output)
			return &item{role: transcript.RoleTool, parts: []part{resultPart(call, body, isError, raw)}}
		}
	case "web_search_call", "image_generation_call", "tool_search_call":
		return answer(customPart("openai/"+typ, raw))
	default: // internal data of the program, and unknown types
		return nil
	}
	return answer(customPart("openai/"+typ, raw))
}

func messageItem(role string, content []byte) *item {
	it := &item{role: transcript.RoleUser}
	switch role {
	case "assistant":
		it.role = transcript.RoleAssistant
	case "developer":
		it.role = transcript.RoleDeveloper
	case "system":
		it.role = transcript.RoleSystem
	}
	if isString(content) {
		it.parts = partsOf(content)
	}
	elements(content, func(v []byte) bool {
		if string(v) != `""` {
			it.parts = append(it.parts, contentPart(v))
		}
		return true
	})
	if it.role == transcript.RoleUser && len(it.parts) > 0 && isContext(&it.parts[0]) {
		it.role = transcript.RoleContext
	}
	return it
}

// isContext reports whether a user's message is context that Codex added.
func isContext(p *part) bool {
	if p.kind != textKind {
		return false
	}
	for _, head := range []string{"<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md instructions", "<turn_aborted>"} {
		if bytes.HasPrefix(p.json, []byte(`"`+head)) {
			return true
		}
	}
	return false
}

// contentPart reads a part of a message or of a tool's output.
func contentPart(v []byte) part {
	if isString(v) {
		return textPart(v)
	}
	lit := field(v, "text")
	switch typ := text(field(v, "type")); {
	case (typ == "input_text" || typ == "output_text" || typ == "text") && isString(lit):
		return textPart(lit)
	case typ == "input_image":
		if p, ok := imagePart(text(field(v, "image_url"))); ok {
			return p
		}
		fallthrough
	default:
		return customPart("openai/"+typ, v)
	}
}

// imagePart reads an image's URL, which may contain the image itself.
func imagePart(url string) (part, bool) {
	if url == "" {
		return part{}, false
	}
	b := []byte(`{"type":"media"`)
	mime, data, inline := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !inline || !strings.HasPrefix(url, "data:") {
		b = append(b, `,"uri":`...)
		return part{json: append(jsonscan.AppendString(b, url), '}')}, true
	}
	lit := jsonscan.AppendString(nil, data)
	if !isBase64(lit) {
		return part{}, false
	}
	b = appendField(b, `,"mime":`, jsonscan.AppendString(nil, mime))
	return part{json: append(appendField(b, `,"data":`, lit), '}')}, true
}

func reasoningPart(summary, content, encrypted []byte) part {
	var texts []string
	each := func(v []byte) bool {
		if s, ok := str(field(v, "text")); ok && s != "" {
			texts = append(texts, s)
		}
		return true
	}
	elements(summary, each)
	elements(content, each)
	b := []byte(`{"type":"thinking"`)
	if len(texts) > 0 {
		b = append(b, `,"text":`...)
		b = jsonscan.AppendString(b, strings.Join(texts, "\n\n"))
	}
	b = appendField(b, `,"data":`, encrypted)
	if len(texts) == 0 && isString(encrypted) && len(encrypted) > 2 {
		b = append(b, `,"redacted":true`...)
	}
	return part{json: append(b, '}')}
}

// argumentsOf reads a call's input, which is JSON inside a string.
func argumentsOf(lit []byte) []byte {
	s, ok := str(lit)
	if !ok {
		if isObject(lit) {
			return lit
		}
		return wrapped("input", []byte(`""`))
	}
	if valid, _ := check([]byte(s)); valid && isObject(bytes.TrimSpace([]byte(s))) {
		var b bytes.Buffer
		_ = json.Compact(&b, []byte(s)) // already checked
		return b.Bytes()
	}
	return wrapped("input", jsonscan.AppendString(nil, s))
}

func wrapped(name string, value []byte) []byte {
	b := append([]byte(nil), `{"`+name+`":`...)
	return append(append(b, value...), '}')
}

// outputOf reads a tool's output: a text, a list of parts, or an object that contains one of
// these.
func outputOf(v []byte) (parts []part, isError bool) {
	if isObject(v) {
		isError = string(field(v, "success")) == "false"
		v = field(v, "content")
	}
	if isString(v) {
		return []part{textPart(v)}, isError
	}
	elements(v, func(e []byte) bool {
		if string(e) != `""` {
			parts = append(parts, contentPart(e))
		}
		return true
	})
	return parts, isError
}
