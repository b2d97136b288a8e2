package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Encode writes an item in its canonical form and indexes it. The form is stable: encoding the
// result of [Encoded.Decode] gives the same bytes.
//
// It fails on an unknown role, invalid raw JSON, tool uses or results without an id, an Extra with
// a known field, an [Unknown] part of a known type, and years without four digits.
func (it Item) Encode() (Encoded, error) {
	if !it.Role.Valid() {
		return Encoded{}, fmt.Errorf("transcript: unknown role %q", it.Role)
	}
	w := &writer{b: make([]byte, 0, 512)}
	w.item(it)
	if w.err != nil {
		return Encoded{}, fmt.Errorf("transcript: item %q: %w", it.ID, w.err)
	}
	return index(fitted(w.b))
}

// fitted returns b without unused capacity, because a session keeps its items in memory.
func fitted(b []byte) []byte {
	if cap(b)-len(b) <= len(b)/8 {
		return b
	}
	return append(make([]byte, 0, len(b)), b...)
}

// MustEncode is [Item.Encode] that panics on an error. Use it in tests and for items built from
// constants.
func (it Item) MustEncode() Encoded {
	e, err := it.Encode()
	if err != nil {
		panic(err)
	}
	return e
}

// MarshalJSON writes the canonical form.
func (it Item) MarshalJSON() ([]byte, error) {
	e, err := it.Encode()
	return e.JSON, err
}

type writer struct {
	b   []byte
	err error
}

func (w *writer) key(first bool, name string) {
	if !first {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *writer) str(name, s string) {
	if s == "" {
		return
	}
	w.key(false, name)
	w.b = jsonscan.AppendString(w.b, s)
}

func (w *writer) raw(name string, v json.RawMessage) {
	if len(v) == 0 {
		return
	}
	w.key(false, name)
	w.value(v)
}

func (w *writer) value(v json.RawMessage) {
	buf := bytes.NewBuffer(w.b)
	if err := json.Compact(buf, v); err != nil {
		w.fail(fmt.Errorf("raw JSON: %w", err))
		return
	}
	w.b = buf.Bytes()
}

func (w *writer) bytes(name string, v []byte) {
	if len(v) == 0 {
		return
	}
	w.key(false, name)
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, v)
	w.b = append(w.b, '"')
}

// extra writes the unknown fields of a part or an item. The parameter known lists the known fields,
// which extra rejects.
func (w *writer) extra(x map[string]json.RawMessage, known ...string) {
	for _, k := range slices.Sorted(maps.Keys(x)) {
		if slices.Contains(known, k) {
			w.fail(fmt.Errorf("Extra contains %q, which is a known field", k))
		}
		w.b = append(w.b, ',')
		w.b = jsonscan.AppendString(w.b, k)
		w.b = append(w.b, ':')
		w.value(x[k])
	}
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) item(it Item) {
	w.b = append(w.b, `{"role":"`...)
	w.b = append(w.b, it.Role...)
	w.b = append(w.b, '"')
	w.str("id", it.ID)
	if !it.Time.IsZero() {
		w.key(false, "time")
		t := it.Time.UTC()
		if y := t.Year(); y < 0 || y > 9999 {
			w.fail(fmt.Errorf("the year %d does not have four digits", y))
		}
		w.b = append(w.b, '"')
		w.b = t.AppendFormat(w.b, time.RFC3339Nano)
		w.b = append(w.b, '"')
	}
	w.str("model", it.Model)
	w.str("finish", string(it.Finish))
	if u := it.Usage; u != nil {
		w.key(false, "usage")
		w.usage(*u)
	}
	w.key(false, "parts")
	w.parts(it.Parts)
	if n := it.Native; n != nil {
		w.key(false, "native")
		w.b = append(w.b, `{"api":`...)
		w.b = jsonscan.AppendString(w.b, n.API)
		w.raw("json", n.JSON)
		w.b = append(w.b, '}')
	}
	if len(it.Metadata) > 0 {
		w.key(false, "metadata")
		w.b = append(w.b, '{')
		for i, k := range slices.Sorted(maps.Keys(it.Metadata)) {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.b = jsonscan.AppendString(w.b, k)
			w.b = append(w.b, ':')
			w.value(it.Metadata[k])
		}
		w.b = append(w.b, '}')
	}
	w.extra(it.Extra, "role", "id", "time", "model", "finish", "usage", "parts", "native", "metadata")
	w.b = append(w.b, '}')
}

func (w *writer) usage(u Usage) {
	w.b = append(w.b, `{"input":`...)
	w.b = strconv.AppendInt(w.b, u.Input, 10)
	w.b = append(w.b, `,"output":`...)
	w.b = strconv.AppendInt(w.b, u.Output, 10)
	for _, f := range []struct {
		name string
		n    int64
	}{{"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}, {"reasoning", u.Reasoning}} {
		if f.n != 0 {
			w.key(false, f.name)
			w.b = strconv.AppendInt(w.b, f.n, 10)
		}
	}
	w.b = append(w.b, '}')
}

func (w *writer) parts(parts []Part) {
	w.b = append(w.b, '[')
	for i, p := range parts {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.part(p)
	}
	w.b = append(w.b, ']')
}

func (w *writer) part(p Part) {
	if p == nil {
		w.fail(fmt.Errorf("a part is nil"))
		return
	}
	if u, ok := p.(Unknown); ok {
		w.unknown(u)
		return
	}
	w.b = append(w.b, `{"type":"`...)
	w.b = append(w.b, p.partType()...)
	w.b = append(w.b, '"')
	switch p := p.(type) {
	case Text:
		w.key(false, "text")
		w.b = jsonscan.AppendString(w.b, p.Text)
		w.extra(p.Extra, "type", "text")
	case Thinking:
		w.str("text", p.Text)
		w.str("signature", p.Signature)
		w.str("data", p.Data)
		if p.Redacted {
			w.b = append(w.b, `,"redacted":true`...)
		}
		w.extra(p.Extra, "type", "text", "signature", "data", "redacted")
	case ToolUse:
		if p.ID == "" {
			w.fail(fmt.Errorf("a tool use has no id"))
		}
		w.str("id", p.ID)
		w.str("name", p.Name)
		w.raw("input", p.Input)
		w.extra(p.Extra, "type", "id", "name", "input")
	case ToolResult:
		if p.UseID == "" {
			w.fail(fmt.Errorf("a tool result has no tool-use id"))
		}
		w.str("use_id", p.UseID)
		w.key(false, "content")
		w.parts(p.Content)
		if p.IsError {
			w.b = append(w.b, `,"is_error":true`...)
		}
		w.extra(p.Extra, "type", "use_id", "content", "is_error")
	case Media:
		w.str("name", p.Name)
		w.str("mime", p.MIME)
		w.bytes("data", p.Data)
		w.str("uri", p.URI)
		w.extra(p.Extra, "type", "name", "mime", "data", "uri")
	case File:
		w.str("name", p.Name)
		w.str("mime", p.MIME)
		w.bytes("data", p.Data)
		w.str("uri", p.URI)
		w.extra(p.Extra, "type", "name", "mime", "data", "uri")
	case Structured:
		w.raw("value", p.Value)
		w.raw("schema", p.Schema)
		w.extra(p.Extra, "type", "value", "schema")
	case Custom:
		w.str("kind", p.Kind)
		w.raw("value", p.Value)
		w.extra(p.Extra, "type", "kind", "value")
	default:
		w.fail(fmt.Errorf("unknown part type %T", p))
	}
	w.b = append(w.b, '}')
}

// unknown writes a part unchanged. It rejects a part that a reader would take for a part of a known
// type.
func (w *writer) unknown(u Unknown) {
	start := len(w.b)
	w.value(u.JSON)
	if w.err != nil {
		return
	}
	p := jsonscan.Object(w.b[start:])
	if p[0] != '{' {
		w.fail(fmt.Errorf("an Unknown part is not a JSON object"))
	}
	switch typ := p.Type(); typ {
	case "text", "thinking", "tool_use", "tool_result", "media", "file", "structured", "custom":
		w.fail(fmt.Errorf("an Unknown part has the known type %q", typ))
	}
}
