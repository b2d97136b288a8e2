package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// openAgentWriter writes a transcript.json: indented, with sorted keys, and with spaces around
// colons as Swift writes them.
type openAgentWriter struct {
	w     *bufio.Writer
	m     session.Meta
	count int
}

func (o *openAgentWriter) begin(m session.Meta, _ int) error {
	o.m = m
	_, err := o.w.WriteString("{\n  \"messages\" : [")
	return err
}

func (o *openAgentWriter) item(it transcript.Item) error {
	content := contentOf(it)
	if content == nil {
		return nil
	}
	role := "user"
	if it.Role == transcript.RoleAssistant {
		role = "assistant"
	}
	if o.count++; o.count > 1 {
		_ = o.w.WriteByte(',')
	}
	_, _ = o.w.WriteString("\n    ")
	var v any
	d := json.NewDecoder(bytes.NewReader(object("role", role, "content", json.RawMessage(content))))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	return o.value(v, "    ")
}

// value writes a decoded value with sorted keys.
func (o *openAgentWriter) value(v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := o.w.Write(spaced(bytes.TrimRight(b.Bytes(), "\n")))
	return err
}

// spaced adds a space before the colon of every key of indented JSON.
func spaced(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/16)
	for i := 0; i < len(b); {
		if b[i] != '"' {
			out = append(out, b[i])
			i++
			continue
		}
		end := jsonscan.StringEnd(b, i)
		out = append(out, b[i:end]...)
		if i = end; i < len(b) && b[i] == ':' {
			out = append(out, ' ')
		}
	}
	return out
}

func (o *openAgentWriter) end() error {
	summary := o.m.Summary
	if summary == "" {
		summary = o.m.Title
	}
	open := "\n  ]"
	if o.count == 0 {
		open = "\n\n  ]"
	}
	_, _ = o.w.WriteString(open + ",\n  \"metadata\" : ")
	meta := map[string]any{
		"createdAt": o.m.CreatedAt.UTC().Format(isoMillis), "updatedAt": o.m.UpdatedAt.UTC().Format(isoMillis),
		"cwd": o.m.CWD, "id": o.m.ID, "model": o.m.Model, "messageCount": json.Number(strconv.Itoa(o.count)),
	}
	for k, v := range map[string]string{"firstPrompt": o.m.FirstPrompt, "gitBranch": o.m.GitBranch, "summary": summary, "tag": o.m.Tag} {
		if v != "" {
			meta[k] = v
		}
	}
	if err := o.value(meta, "  "); err != nil {
		return err
	}
	_, err := o.w.WriteString("\n}")
	return err
}
