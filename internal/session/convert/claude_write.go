package convert

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// claudeVersion is the version of Claude Code whose format the entries have.
const claudeVersion = "2.1.144"

// claudeWriter writes entries of the types user, assistant and custom-title, each one a child
// of the previous one, in the form that Claude Code loads.
type claudeWriter struct {
	w       *bufio.Writer
	m       session.Meta
	session string
	parent  string // uuid of the previous entry, or ""
	n       int
}

func newClaudeWriter(w *bufio.Writer, m session.Meta, last []byte) *claudeWriter {
	c := &claudeWriter{w: w, m: m, session: ClaudeID(m.ID)}
	if last != nil {
		c.parent = text(field(last, "uuid"))
		if id := text(field(last, "sessionId")); id != "" {
			c.session = id
		}
	}
	return c
}

// ClaudeID returns the session id that Claude Code uses for a Holdfast session: the same id if
// it is a UUID, otherwise one derived from it. The file must have this name, with the
// extension .jsonl.
func ClaudeID(id string) string {
	if u, err := uuid.Parse(id); err == nil && u.String() == id {
		return id
	}
	return derived("claude session", id)
}

// derived returns the same UUID for the same words.
func derived(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%d %s\n", len(w), w)
	}
	var u uuid.UUID
	copy(u[:], h.Sum(nil))
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // version 8: a vendor-specific form
	return u.String()
}

func (c *claudeWriter) begin(m session.Meta, _ int) error {
	if m.Title == "" {
		return nil
	}
	b := append([]byte(nil), `{"type":"custom-title","customTitle":`...)
	b = jsonscan.AppendString(b, m.Title)
	b = append(b, `,"sessionId":"`+c.session+"\"}\n"...)
	_, err := c.w.Write(b)
	return err
}

func (c *claudeWriter) end() error { return nil }

func (c *claudeWriter) item(it transcript.Item) error {
	if it.Role == transcript.RoleAssistant {
		return c.answer(it)
	}
	content := contentOf(it)
	if content == nil {
		return nil
	}
	var meta []byte
	switch it.Role {
	case transcript.RoleUser, transcript.RoleTool:
	default:
		meta = []byte(`,"isMeta":true`)
	}
	b := append([]byte(`{"role":"user","content":`), content...)
	return c.entry("user", it, 0, append(b, '}'), meta)
}

// answer writes one line per content block, which share the message's id.
func (c *claudeWriter) answer(it transcript.Item) error {
	var all [][]byte
	for _, p := range it.Parts {
		if b := blockOf(p); b != nil {
			all = append(all, b)
		}
	}
	for i, b := range all {
		m := append([]byte(nil), `{"id":"msg_`...)
		m = append(m, derived("message", c.m.ID, it.ID)[:8]...)
		m = strconv.AppendInt(m, int64(c.n-i), 10)
		m = append(m, `","type":"message","role":"assistant","model":`...)
		m = jsonscan.AppendString(m, it.Model)
		m = append(append(append(m, `,"content":[`...), b...), `],"stop_reason":`...)
		m = append(m, stopOf(it.Finish, i == len(all)-1)...)
		m = append(m, `,"stop_sequence":null,"usage":`...)
		m = appendUsage(m, it.Usage)
		if err := c.entry("assistant", it, i, append(m, '}'), nil); err != nil {
			return err
		}
	}
	return nil
}

func stopOf(f transcript.Finish, last bool) string {
	switch {
	case !last:
		return "null"
	case f == transcript.FinishToolUse:
		return `"tool_use"`
	case f == transcript.FinishMaxTokens:
		return `"max_tokens"`
	case f == transcript.FinishRefusal:
		return `"refusal"`
	}
	return `"end_turn"`
}

func appendUsage(b []byte, u *transcript.Usage) []byte {
	if u == nil {
		u = &transcript.Usage{}
	}
	return fmt.Appendf(b, `{"input_tokens":%d,"output_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d}`,
		u.Input, u.Output, u.CacheRead, u.CacheWrite)
}

func (c *claudeWriter) entry(typ string, it transcript.Item, part int, message, more []byte) error {
	id := it.ID
	if u, err := uuid.Parse(id); part > 0 || err != nil || u.String() != id {
		id = derived("claude entry", c.m.ID, it.ID, strconv.Itoa(part), strconv.Itoa(c.n))
	}
	c.n++
	b := append([]byte(nil), `{"parentUuid":`...)
	if c.parent == "" {
		b = append(b, "null"...)
	} else {
		b = jsonscan.AppendString(b, c.parent)
	}
	b = append(b, `,"isSidechain":false,"userType":"external","cwd":`...)
	b = jsonscan.AppendString(b, c.m.CWD)
	b = append(b, `,"sessionId":"`+c.session+`","version":"`+claudeVersion+`","gitBranch":`...)
	b = jsonscan.AppendString(b, c.m.GitBranch)
	b = append(b, `,"type":"`+typ+`","message":`...)
	b = append(append(b, message...), more...)
	b = append(b, `,"uuid":"`+id+`","timestamp":"`...)
	at := it.Time
	if at.IsZero() {
		at = c.m.CreatedAt
	}
	b = at.UTC().AppendFormat(b, isoMillis)
	c.parent = id
	_, err := c.w.Write(append(b, "\"}\n"...))
	return err
}

// isoMillis is the format in which JavaScript writes a time.
const isoMillis = "2006-01-02T15:04:05.000Z"

// contentOf returns a message's content in Anthropic's form, or nil if nothing is left of it.
func contentOf(it transcript.Item) []byte {
	if len(it.Parts) == 1 {
		if t, ok := it.Parts[0].(transcript.Text); ok {
			return jsonscan.AppendString(nil, t.Text)
		}
	}
	var b []byte
	for _, p := range it.Parts {
		if j := blockOf(p); j != nil {
			b = append(append(b, ','), j...)
		}
	}
	if b == nil {
		return nil
	}
	b[0] = '['
	return append(b, ']')
}

// blockOf returns a part as a content block, or nil for a part that models do not see.
func blockOf(p transcript.Part) []byte {
	switch p := p.(type) {
	case transcript.Text:
		if p.Text == "" {
			return nil
		}
		return object("type", "text", "text", p.Text)
	case transcript.Thinking:
		if p.Redacted {
			return object("type", "redacted_thinking", "data", p.Data)
		}
		return object("type", "thinking", "thinking", p.Text, "signature", p.Signature)
	case transcript.ToolUse:
		input := p.Input
		if !isObject(input) {
			input = json.RawMessage("{}")
		}
		return object("type", "tool_use", "id", p.ID, "name", p.Name, "input", input)
	case transcript.ToolResult:
		list := []byte{'['}
		for _, q := range p.Content {
			if j := blockOf(q); j != nil {
				if len(list) > 1 {
					list = append(list, ',')
				}
				list = append(list, j...)
			}
		}
		content := any(json.RawMessage(append(list, ']')))
		if len(p.Content) == 1 {
			if t, ok := p.Content[0].(transcript.Text); ok {
				content = t.Text
			}
		}
		if p.IsError {
			return object("type", "tool_result", "tool_use_id", p.UseID, "content", content, "is_error", json.RawMessage("true"))
		}
		return object("type", "tool_result", "tool_use_id", p.UseID, "content", content)
	case transcript.Media:
		if kind := "image"; len(p.Data) > 0 {
			return object("type", kind, "source", json.RawMessage(object("type", "base64", "media_type", p.MIME, "data", base64.StdEncoding.EncodeToString(p.Data))))
		}
		return object("type", "image", "source", json.RawMessage(object("type", "url", "url", p.URI)))
	case transcript.File:
		if len(p.Data) == 0 {
			return object("type", "document", "source", json.RawMessage(object("type", "url", "url", p.URI)), "title", p.Name)
		}
		return object("type", "document", "source", json.RawMessage(object("type", "base64", "media_type", p.MIME, "data", base64.StdEncoding.EncodeToString(p.Data))), "title", p.Name)
	case transcript.Structured:
		return object("type", "text", "text", string(p.Value))
	case transcript.Custom:
		if kind, ok := cutAnthropic(p.Kind); ok && kind != "" && isObject(p.Value) {
			return p.Value
		}
	}
	return nil
}

func cutAnthropic(kind string) (string, bool) {
	const prefix = "anthropic/"
	if len(kind) < len(prefix) || kind[:len(prefix)] != prefix {
		return "", false
	}
	return kind[len(prefix):], true
}

// object writes a JSON object. Its arguments alternate between a name and a value; a value is a
// string or JSON.
func object(fields ...any) []byte {
	b := []byte{'{'}
	for i := 0; i < len(fields); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(b, fields[i].(string)) //nolint:forcetypeassert // names and values take turns
		b = append(b, ':')
		switch v := fields[i+1].(type) {
		case string:
			b = jsonscan.AppendString(b, v)
		case json.RawMessage:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

func orTime(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}
