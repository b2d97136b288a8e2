package convert

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/transcript"
)

// codex reads the rollouts of Codex: lines of timestamp, type and payload, and of
// before there were types. What the model said is in response_item lines; event_msg
// lines say the same to people and are not read, but for rollbacks.
type codex struct {
	f     facts
	open  *item // an answer whose lines are being read
	model []byte
	items []codexItem // of the transcript as it stands
}

// codexItem is what a rollback must know.
type codexItem struct {
	id   string
	user bool
}

type codexLine struct {
	typ       string
	timestamp []byte
	payload   []byte
}

func readCodex(line []byte) (l codexLine) {
	bare := true
	members(line, func(key string, v []byte) bool {
		switch key {
		case "type":
			l.typ = text(v)
		case "timestamp":
			l.timestamp = v
		case "payload":
			l.payload, bare = v, false
		}
		return true
	})
	if bare { // as it was written at first
		l.payload = line
		switch l.typ {
		case "":
			l.typ = "session_meta"
		case "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "web_search_call":
			l.typ = "response_item"
		}
	}
	return l
}

func (c *codex) index(_ int, _, line []byte) {
	if line == nil {
		return
	}
	l := readCodex(line)
	if c.f.created.IsZero() {
		c.f.created = stamp(l.timestamp)
	}
	if l.typ != "session_meta" || c.f.session != "" {
		return
	}
	members(l.payload, func(key string, v []byte) bool {
		switch key {
		case "id":
			c.f.session = text(v)
		case "cwd":
			c.f.cwd = text(v)
		case "git":
			c.f.branch = text(field(v, "branch"))
		}
		return true
	})
}

func (c *codex) plan(func(int, string, ...any)) facts { return c.f }

func (c *codex) read(k kept, line []byte, out *out) error {
	if line == nil {
		return out.aside(k)
	}
	l := readCodex(line)
	switch l.typ {
	case "response_item":
		return c.response(k, &l, out)
	case "turn_context":
		if m := modelOf(field(l.payload, "model")); m != nil {
			c.model = m
		}
	case "compacted":
		return c.compacted(k, &l, out)
	case "event_msg":
		if text(field(l.payload, "type")) == "thread_rolled_back" {
			if err := c.rolledBack(k.n, number(field(l.payload, "num_turns")), out); err != nil {
				return err
			}
		}
	}
	return out.aside(k)
}

func (c *codex) end(out *out) error { return c.flush(out) }

// flush ends the answer that is being read.
func (c *codex) flush(out *out) error {
	it := c.open
	if c.open = nil; it == nil {
		return nil
	}
	it.finish = transcript.FinishStop
	if it.calls() {
		it.finish = transcript.FinishToolUse
	}
	return c.emit(it, out)
}

func (c *codex) emit(it *item, out *out) error {
	if it.again {
		c.items = c.items[:0]
	}
	c.items = append(c.items, codexItem{it.id, it.role == transcript.RoleUser})
	return out.item(it)
}

// response takes one item of the Responses API.
func (c *codex) response(k kept, l *codexLine, out *out) error {
	it := responseItem(l.payload)
	if it == nil {
		return out.aside(k)
	}
	it.line, it.time, it.kept = k.n, stamp(l.timestamp), []kept{k}
	if it.role == transcript.RoleAssistant {
		if c.open == nil {
			c.open, it.model, it.id = it, c.model, lineID(k.n)
			return nil
		}
		c.open.parts = append(c.open.parts, it.parts...)
		c.open.kept = append(c.open.kept, k)
		return nil
	}
	if err := c.flush(out); err != nil {
		return err
	}
	it.id = lineID(k.n)
	return c.emit(it, out)
}

// compacted begins the transcript anew: with what the line has in its place, else
// with its summary.
func (c *codex) compacted(k kept, l *codexLine, out *out) error {
	if err := c.flush(out); err != nil {
		return err
	}
	var list []*item
	elements(field(l.payload, "replacement_history"), func(v []byte) bool {
		it := responseItem(v)
		switch {
		case it == nil:
		case it.role == transcript.RoleAssistant && len(list) > 0 && list[len(list)-1].role == transcript.RoleAssistant:
			last := list[len(list)-1]
			last.parts = append(last.parts, it.parts...)
		default:
			list = append(list, it)
		}
		return true
	})
	message := field(l.payload, "message")
	if len(list) == 0 && isString(message) && len(message) > 2 {
		list = []*item{{role: transcript.RoleUser, parts: []part{textPart(message)}}}
	}
	if len(list) == 0 {
		out.warn(k.n, "what was compacted has nothing in its place: it stays as it was")
		return out.aside(k)
	}
	for i, it := range list {
		it.line, it.time, it.id = k.n, stamp(l.timestamp), lineID(k.n)
		if i > 0 {
			it.id += "-" + strconv.Itoa(i)
		} else {
			it.again, it.kept = true, []kept{k}
		}
		if err := c.emit(it, out); err != nil {
			return err
		}
	}
	return nil
}

// rolledBack drops the last turns.
func (c *codex) rolledBack(n int, turns int64, out *out) error {
	if err := c.flush(out); err != nil {
		return err
	}
	at := len(c.items)
	for at > 0 && turns > 0 {
		if at--; c.items[at].user {
			turns--
		}
	}
	if at == len(c.items) {
		return nil
	}
	if at == 0 {
		out.warn(n, "everything was taken back: what was said stays in the transcript")
		return nil
	}
	c.items = c.items[:at]
	return out.back(c.items[at-1].id)
}

// responseItem reads an item of the Responses API; nil for what no model is told.
func responseItem(raw []byte) *item {
	var typ string
	var role, content, summary, encrypted, callID, id, name, arguments, output, input, action []byte
	members(raw, func(key string, v []byte) bool {
		switch key {
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
	default: // what the program keeps for itself, and what is not known here
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
		it.parts = append(it.parts, contentPart(v))
		return true
	})
	if it.role == transcript.RoleUser && len(it.parts) > 0 && isSurroundings(&it.parts[0]) {
		it.role = transcript.RoleContext
	}
	return it
}

// isSurroundings reports whether a user's message is one that Codex puts in front.
func isSurroundings(p *part) bool {
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

// contentPart reads a piece of a message or of a tool's output.
func contentPart(v []byte) part {
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

// imagePart reads an image's address, which may be the image itself.
func imagePart(url string) (part, bool) {
	if url == "" {
		return part{}, false
	}
	b := []byte(`{"type":"media"`)
	mime, data, inline := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !inline || !strings.HasPrefix(url, "data:") {
		b = append(b, `,"uri":`...)
		return part{json: append(transcript.AppendString(b, url), '}')}, true
	}
	lit := transcript.AppendString(nil, data)
	if !isBase64(lit) {
		return part{}, false
	}
	b = appendField(b, `,"mime":`, transcript.AppendString(nil, mime))
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
		b = transcript.AppendString(b, strings.Join(texts, "\n\n"))
	}
	b = appendField(b, `,"data":`, encrypted)
	if len(texts) == 0 && isString(encrypted) && len(encrypted) > 2 {
		b = append(b, `,"redacted":true`...)
	}
	return part{json: append(b, '}')}
}

// argumentsOf reads a call's input, which is JSON in a string.
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
		_ = json.Compact(&b, []byte(s)) // it was checked
		return b.Bytes()
	}
	return wrapped("input", transcript.AppendString(nil, s))
}

func wrapped(name string, value []byte) []byte {
	b := append([]byte(nil), `{"`+name+`":`...)
	return append(append(b, value...), '}')
}

// outputOf reads what a tool said: a text, a list of pieces, or an object around one.
func outputOf(v []byte) (parts []part, isError bool) {
	if isObject(v) {
		isError = string(field(v, "success")) == "false"
		v = field(v, "content")
	}
	if isString(v) {
		return []part{textPart(v)}, isError
	}
	elements(v, func(e []byte) bool {
		parts = append(parts, contentPart(e))
		return true
	})
	return parts, isError
}
