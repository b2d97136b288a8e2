package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wire returns the input as JSON for a command in dialect d: one object on one line, with exactly
// the fields that the event has in that dialect. The error names a raw field that contains invalid
// JSON, or an unknown event.
func (in *Input) wire(d string) ([]byte, error) {
	if d == "" {
		d = dialectClaude
	}
	info, ok := in.Event.info()
	name, key := string(in.Event), claudeEvent
	if d == dialectSeed {
		name, key = info.Seed, seedEvent
	}
	if !ok || name == "" {
		return nil, &Error{What: fmt.Sprintf("unknown event %q in the dialect %q", in.Event, d)}
	}
	w := newWireWriter(512 + len(in.Tool.Input) + len(in.Tool.Response) + len(in.Tool.Output) + len(in.Prompt))
	w.field(key, name)
	for _, part := range wirePlans()[d][in.Event] {
		if err := w.part(in, &part, d); err != nil {
			return nil, err
		}
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes(), nil
}

// wireWriter writes one object.
type wireWriter struct {
	buf bytes.Buffer
	enc *json.Encoder
}

func newWireWriter(size int) *wireWriter {
	w := &wireWriter{}
	w.buf.Grow(size)
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}

func (w *wireWriter) name(name string) {
	sep := byte(',')
	if w.buf.Len() == 0 {
		sep = '{'
	}
	w.buf.WriteByte(sep)
	w.buf.WriteByte('"')
	w.buf.WriteString(name)
	w.buf.WriteString(`":`)
}

// field writes a text, a flag or a number. Encoding these cannot fail.
func (w *wireWriter) field(name string, value any) {
	w.name(name)
	_ = w.enc.Encode(value)
	w.buf.Truncate(w.buf.Len() - 1) // the encoder ends with a line feed
}

func (w *wireWriter) raw(name string, raw json.RawMessage) error {
	w.name(name)
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if err := json.Compact(&w.buf, raw); err != nil {
		return &Error{Field: name, What: "it is not JSON: " + err.Error()}
	}
	return nil
}

func (w *wireWriter) part(in *Input, part *wirePart, d string) error {
	switch at := part.at(in).(type) {
	case *string:
		if *at != "" || !part.optional {
			w.field(part.name, *at)
		}
	case **string:
		if *at != nil || !part.optional {
			w.field(part.name, *at)
		}
	case *int64:
		if *at != 0 || !part.optional {
			w.field(part.name, *at)
		}
	case *float64:
		if *at != 0 || !part.optional {
			w.field(part.name, *at)
		}
	case *bool:
		if *at || !part.optional {
			w.field(part.name, *at)
		}
	case *time.Duration:
		if *at != 0 || !part.optional {
			w.field(part.name, at.Milliseconds())
		}
	case *json.RawMessage:
		switch raw := *at; {
		case at == &in.Tool.Response && len(raw) == 0:
			w.field(part.name, in.Tool.Output)
		case len(raw) == 0 && part.optional:
		case at == &in.Tool.Input && d == dialectClaude:
			return w.raw(part.name, absoluteInput(in.Tool.Name, raw, in.CWD))
		default:
			return w.raw(part.name, raw)
		}
	case *[]string:
		if len(*at) > 0 || !part.optional {
			w.field(part.name, *at)
		}
	case *[]ToolCall:
		return w.calls(part.name, *at, in.CWD)
	}
	return nil
}

func (w *wireWriter) calls(name string, calls []ToolCall, cwd string) error {
	out := make([]ToolCall, len(calls))
	for i, c := range calls {
		if len(c.Input) == 0 {
			c.Input = json.RawMessage("null")
		}
		c.Input = absoluteInput(c.Name, c.Input, cwd)
		out[i] = c
	}
	w.name(name)
	if err := w.enc.Encode(out); err != nil {
		return &Error{Field: name, What: "it is not JSON: " + err.Error()}
	}
	w.buf.Truncate(w.buf.Len() - 1)
	return nil
}

// absoluteInput makes the paths in a built-in tool's input absolute, because Claude Code guarantees
// absolute paths. An input that is not an object is returned unchanged.
func absoluteInput(tool string, raw json.RawMessage, cwd string) json.RawMessage {
	if strings.HasPrefix(tool, "mcp__") {
		return raw
	}
	var out []byte
	done := 0
	eachField(raw, func(name string, at, end int) {
		var path string
		if name != "file_path" && name != "notebook_path" && name != "path" || json.Unmarshal(raw[at:end], &path) != nil {
			return
		}
		abs := absolutePath(path, cwd)
		if abs == path {
			return
		}
		text, err := json.Marshal(abs)
		if err != nil {
			return
		}
		out = append(append(out, raw[done:at]...), text...)
		done = end
	})
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

func absolutePath(path, cwd string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, path[1:])
		}
	}
	if path == "" || filepath.IsAbs(path) || cwd == "" {
		return path
	}
	return filepath.Join(cwd, path)
}

// eachField calls f for each top-level field of an object whose value is a string, with the
// position of the value. It scans the bytes once and decodes nothing else.
func eachField(raw []byte, f func(name string, at, end int)) {
	depth, key, keyed := 0, "", false // keyed is true if key is the key of the next value
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if depth++; depth == 1 && raw[i] == '[' {
				return
			}
		case '}', ']':
			depth--
		case ',':
			keyed = keyed && depth != 1
		case '"':
			end := endOfText(raw, i)
			switch {
			case depth != 1:
			case keyed:
				f(key, i, end)
			case json.Unmarshal(raw[i:end], &key) != nil:
				return
			default:
				keyed = true
			}
			i = end - 1
		}
	}
}

// endOfText returns the offset after the string that starts at i.
func endOfText(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		slashes := 0
		for ; slashes < n && raw[i+n-slashes-1] == '\\'; slashes++ {
		}
		if i += n; slashes%2 == 0 {
			return i + 1
		}
	}
	return len(raw)
}
