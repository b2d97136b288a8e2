package convert

import (
	"bufio"
	"encoding/base64"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// codexWriter writes a rollout: session_meta, then the conversation both as response_item
// lines and as the event_msg lines that Codex displays.
type codexWriter struct {
	w  *bufio.Writer
	m  session.Meta
	on bool // it continues an existing rollout
}

func (c *codexWriter) line(typ string, it *transcript.Item, payload []byte) error {
	at := c.m.CreatedAt
	if it != nil {
		at = orTime(it.Time, at)
	}
	b := append([]byte(nil), `{"timestamp":"`...)
	b = at.UTC().AppendFormat(b, isoMillis)
	b = append(b, `","type":"`+typ+`","payload":`...)
	_, err := c.w.Write(append(append(b, payload...), "}\n"...))
	return err
}

func (c *codexWriter) begin(m session.Meta, _ int) error {
	git := object()
	if m.GitBranch != "" {
		git = object("branch", m.GitBranch)
	}
	return c.line("session_meta", nil, object("id", ClaudeID(m.ID), "timestamp", m.CreatedAt.UTC().Format(isoMillis), "cwd", m.CWD,
		"originator", "holdfast", "cli_version", version.Current().Version, "source", "cli", "git", json.RawMessage(git)))
}

func (c *codexWriter) end() error { return nil }

func (c *codexWriter) item(it transcript.Item) error {
	role, kind := string(it.Role), "input_text"
	switch it.Role {
	case transcript.RoleAssistant:
		kind = "output_text"
	case transcript.RoleContext, transcript.RoleNotification, transcript.RoleTool:
		role = "user"
	}
	var content []byte
	say := func() error {
		if content == nil {
			return nil
		}
		b := object("type", "message", "role", role, "content", json.RawMessage(append(content, ']')))
		content = nil
		return c.line("response_item", &it, b)
	}
	for _, p := range it.Parts {
		if b := codexContent(p, kind); b != nil {
			if content == nil {
				content = []byte{'['}
			} else {
				content = append(content, ',')
			}
			content = append(content, b...)
			continue
		}
		b := codexItemOf(p)
		if b == nil {
			continue
		}
		if err := say(); err != nil {
			return err
		}
		if err := c.line("response_item", &it, b); err != nil {
			return err
		}
	}
	if err := say(); err != nil {
		return err
	}
	switch s := it.Text(); {
	case s == "":
	case it.Role == transcript.RoleUser:
		return c.line("event_msg", &it, object("type", "user_message", "message", s, "kind", "plain"))
	case it.Role == transcript.RoleAssistant:
		return c.line("event_msg", &it, object("type", "agent_message", "message", s))
	}
	return nil
}

// codexContent returns a part as content of a message, or nil if it must be a separate item.
func codexContent(p transcript.Part, kind string) []byte {
	switch p := p.(type) {
	case transcript.Text:
		return object("type", kind, "text", p.Text)
	case transcript.Structured:
		return object("type", kind, "text", string(p.Value))
	case transcript.Media:
		return object("type", "input_image", "image_url", imageURL(p))
	case transcript.File:
		return object("type", kind, "text", "[file "+p.Name+"]")
	}
	return nil
}

func imageURL(p transcript.Media) string {
	if len(p.Data) == 0 {
		return p.URI
	}
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// codexItemOf returns a part as an item of the Responses API, or nil if models do not see it.
func codexItemOf(p transcript.Part) []byte {
	switch p := p.(type) {
	case transcript.Thinking:
		if p.Text == "" {
			return nil
		}
		summary := append(append([]byte{'['}, object("type", "summary_text", "text", p.Text)...), ']')
		return object("type", "reasoning", "summary", json.RawMessage(summary), "encrypted_content", json.RawMessage("null"))
	case transcript.ToolUse:
		return object("type", "function_call", "name", p.Name, "arguments", string(p.Input), "call_id", p.ID)
	case transcript.ToolResult:
		output := any(p.Text())
		list := []byte{'['}
		plain := true
		for _, q := range p.Content {
			_, isText := q.(transcript.Text)
			plain = plain && isText
			if b := codexContent(q, "input_text"); b != nil {
				if len(list) > 1 {
					list = append(list, ',')
				}
				list = append(list, b...)
			}
		}
		if !plain {
			output = json.RawMessage(append(list, ']'))
		}
		return object("type", "function_call_output", "call_id", p.UseID, "output", output)
	}
	return nil
}
