package transcript

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Decode unpacks the item. The raw JSON in it is copied, so the caller owns all of it.
func (e Encoded) Decode() (Item, error) {
	var it Item
	err := fields(e.JSON, func(key, v []byte) (err error) {
		switch string(key) {
		case "role":
			it.Role, err = decodeString[Role](v)
		case "id":
			it.ID, err = decodeString[string](v)
		case "time":
			var s string
			if s, err = unquote(v); err == nil {
				it.Time, err = time.Parse(time.RFC3339Nano, s)
			}
		case "model":
			it.Model, err = decodeString[string](v)
		case "finish":
			it.Finish, err = decodeString[Finish](v)
		case "usage":
			it.Usage, err = decodeUsage(v)
		case "parts":
			it.Parts, err = decodeParts(v)
		case "native":
			it.Native, err = decodeNative(v)
		case "metadata":
			it.Metadata = map[string]json.RawMessage{}
			err = fields(v, func(k, mv []byte) error {
				it.Metadata[string(k)] = clone(mv)
				return nil
			})
		default:
			it.Extra = it.Extra.with(key, v)
		}
		return err
	})
	if err != nil {
		return Item{}, fmt.Errorf("transcript: item %q: %w", e.id, err)
	}
	return it, nil
}

// UnmarshalJSON reads an item in any spacing and key order.
func (it *Item) UnmarshalJSON(b []byte) error {
	e, err := Parse(b)
	if err != nil {
		return err
	}
	got, err := e.Decode()
	if err != nil {
		return err
	}
	*it = got
	return nil
}

func (x Extra) with(key, v []byte) Extra {
	if x == nil {
		x = Extra{}
	}
	x[string(key)] = clone(v)
	return x
}

func clone(v []byte) json.RawMessage { return append(json.RawMessage(nil), v...) }

func decodeString[S ~string](v []byte) (S, error) {
	s, err := unquote(v)
	return S(s), err
}

func decodeUsage(b []byte) (*Usage, error) {
	var u Usage
	err := fields(b, func(key, v []byte) error {
		n, err := strconv.ParseInt(string(v), 10, 64)
		switch string(key) {
		case "input":
			u.Input = n
		case "output":
			u.Output = n
		case "cache_read":
			u.CacheRead = n
		case "cache_write":
			u.CacheWrite = n
		case "reasoning":
			u.Reasoning = n
		default:
			return nil
		}
		return err
	})
	return &u, err
}

func decodeNative(b []byte) (*Native, error) {
	var n Native
	err := fields(b, func(key, v []byte) (err error) {
		switch string(key) {
		case "api":
			n.API, err = unquote(v)
		case "json":
			n.JSON = clone(v)
		}
		return err
	})
	return &n, err
}

func decodeParts(b []byte) ([]Part, error) {
	var parts []Part
	for v := range elements(b) {
		p, err := decodePart(v)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", len(parts), err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func decodePart(b []byte) (Part, error) {
	typ, err := unquoteField(b, "type")
	if err != nil {
		return nil, err
	}
	d := partDecoder{}
	if err := fields(b, d.field); err != nil {
		return nil, err
	}
	switch typ {
	case "text":
		return Text{Text: d.text, Extra: d.rest("text")}, nil
	case "thinking":
		return Thinking{Text: d.text, Signature: d.signature, Data: d.dataText, Redacted: d.redacted,
			Extra: d.rest("text", "signature", "data", "redacted")}, nil
	case "tool_use":
		return ToolUse{ID: d.id, Name: d.name, Input: d.input, Extra: d.rest("id", "name", "input")}, nil
	case "tool_result":
		return ToolResult{UseID: d.useID, Content: d.content, IsError: d.isError,
			Extra: d.rest("use_id", "content", "is_error")}, nil
	case "media":
		data, err := d.data()
		return Media{MIME: d.mime, Data: data, URI: d.uri, Extra: d.rest("mime", "data", "uri")}, err
	case "file":
		data, err := d.data()
		return File{Name: d.name, MIME: d.mime, Data: data, URI: d.uri,
			Extra: d.rest("name", "mime", "data", "uri")}, err
	case "structured":
		return Structured{Value: d.value, Schema: d.schema, Extra: d.rest("value", "schema")}, nil
	case "custom":
		return Custom{Kind: d.kind, Value: d.value, Extra: d.rest("kind", "value")}, nil
	}
	return Unknown{Type: typ, JSON: clone(b)}, nil
}

// partDecoder collects the fields of any part; rest hands back those that the
// part's type does not use.
type partDecoder struct {
	all                                                   Extra
	text, signature, dataText, id, name, useID, mime, uri string
	kind                                                  string
	input, value, schema                                  json.RawMessage
	content                                               []Part
	isError, redacted                                     bool
}

func (d *partDecoder) field(key, v []byte) (err error) {
	if string(key) == "type" {
		return nil
	}
	d.all = d.all.with(key, v)
	isString := len(v) > 0 && v[0] == '"'
	switch k := string(key); {
	case k == "input":
		d.input = d.all[k]
	case k == "value":
		d.value = d.all[k]
	case k == "schema":
		d.schema = d.all[k]
	case k == "content" && v[0] == '[':
		d.content, err = decodeParts(v)
	case k == "is_error":
		d.isError = string(v) == "true"
	case k == "redacted":
		d.redacted = string(v) == "true"
	case isString:
		if dst := d.stringField(k); dst != nil {
			*dst, err = unquote(v)
		}
	}
	return err
}

func (d *partDecoder) stringField(key string) *string {
	switch key {
	case "text":
		return &d.text
	case "signature":
		return &d.signature
	case "data":
		return &d.dataText
	case "id":
		return &d.id
	case "name":
		return &d.name
	case "use_id":
		return &d.useID
	case "mime":
		return &d.mime
	case "uri":
		return &d.uri
	case "kind":
		return &d.kind
	}
	return nil
}

func (d *partDecoder) data() ([]byte, error) {
	if d.dataText == "" {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(d.dataText)
}

func (d *partDecoder) rest(known ...string) Extra {
	for _, k := range known {
		delete(d.all, k)
	}
	if len(d.all) == 0 {
		return nil
	}
	return d.all
}

func unquoteField(b []byte, name string) (string, error) {
	var s string
	err := fields(b, func(key, v []byte) (err error) {
		if string(key) == name {
			s, err = unquote(v)
		}
		return err
	})
	return s, err
}
