package transcript

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Decode decodes the item. It copies raw JSON, so the caller owns the result. Unknown fields of the
// item and its parts are kept; unknown fields of usage and native are dropped. A duplicate key in
// an object, and a known field of the wrong type, are errors.
func (e Encoded) Decode() (Item, error) {
	var it Item
	err := jsonscan.UniqueFields(e.JSON, func(key, v []byte) (err error) {
		switch string(key) {
		case "role":
			it.Role, err = decodeString[Role](v)
		case "id":
			it.ID, err = decodeString[string](v)
		case "time":
			var s string
			if s, err = jsonscan.Unquote(v); err == nil {
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
			err = jsonscan.UniqueFields(v, func(k, mv []byte) error {
				it.Metadata[string(k)] = clone(mv)
				return nil
			})
		default:
			if it.Extra == nil {
				it.Extra = map[string]json.RawMessage{}
			}
			it.Extra[string(key)] = clone(v)
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
	var e Encoded
	if err := e.Parse(b); err != nil {
		return err
	}
	got, err := e.Decode()
	if err != nil {
		return err
	}
	*it = got
	return nil
}

func clone(v []byte) json.RawMessage { return append(json.RawMessage(nil), v...) }

func decodeString[S ~string](v []byte) (S, error) {
	s, err := jsonscan.Unquote(v)
	return S(s), err
}

func decodeUsage(b []byte) (*Usage, error) {
	var u Usage
	err := jsonscan.UniqueFields(b, func(key, v []byte) error {
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
	err := jsonscan.UniqueFields(b, func(key, v []byte) (err error) {
		switch string(key) {
		case "api":
			n.API, err = jsonscan.Unquote(v)
		case "json":
			n.JSON = clone(v)
		}
		return err
	})
	return &n, err
}

func decodeParts(b []byte) ([]Part, error) {
	var parts []Part
	for v := range jsonscan.Elements(b) {
		p, err := decodePart(v)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", len(parts), err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func decodePart(b []byte) (Part, error) {
	d := partDecoder{all: map[string][]byte{}}
	if err := jsonscan.UniqueFields(b, func(key, v []byte) error {
		d.all[string(key)] = v
		return nil
	}); err != nil {
		return nil, err
	}
	var p Part
	switch typ := d.str("type"); typ {
	case "text":
		p = Text{Text: d.str("text"), Extra: d.rest()}
	case "thinking":
		p = Thinking{
			Text: d.str("text"), Signature: d.str("signature"), Data: d.str("data"),
			Redacted: d.bool("redacted"), Extra: d.rest(),
		}
	case "tool_use":
		p = ToolUse{ID: d.str("id"), Name: d.str("name"), Input: d.raw("input"), Extra: d.rest()}
	case "tool_result":
		p = ToolResult{UseID: d.str("use_id"), Content: d.parts("content"), IsError: d.bool("is_error"), Extra: d.rest()}
	case "media":
		p = Media{Name: d.str("name"), MIME: d.str("mime"), Data: d.bytes("data"), URI: d.str("uri"), Extra: d.rest()}
	case "file":
		p = File{Name: d.str("name"), MIME: d.str("mime"), Data: d.bytes("data"), URI: d.str("uri"), Extra: d.rest()}
	case "structured":
		p = Structured{Value: d.raw("value"), Schema: d.raw("schema"), Extra: d.rest()}
	case "custom":
		p = Custom{Kind: d.str("kind"), Value: d.raw("value"), Extra: d.rest()}
	default:
		p = Unknown{Type: typ, JSON: clone(b)}
	}
	return p, d.err
}

// partDecoder returns the fields of a part by name. The method rest returns the fields that were
// not read. err is the first error.
type partDecoder struct {
	all map[string][]byte
	err error
}

func (d *partDecoder) take(name string) ([]byte, bool) {
	v, ok := d.all[name]
	delete(d.all, name)
	return v, ok
}

func (d *partDecoder) fault(name string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (d *partDecoder) str(name string) string {
	v, ok := d.take(name)
	if !ok {
		return ""
	}
	s, err := jsonscan.Unquote(v)
	if err != nil {
		d.fault(name, err)
	}
	return s
}

func (d *partDecoder) bool(name string) bool {
	v, ok := d.take(name)
	switch {
	case !ok, string(v) == "false":
		return false
	case string(v) == "true":
		return true
	}
	d.fault(name, fmt.Errorf("%w: want true or false", jsonscan.ErrSyntax))
	return false
}

func (d *partDecoder) raw(name string) json.RawMessage {
	v, ok := d.take(name)
	if !ok {
		return nil
	}
	return clone(v)
}

func (d *partDecoder) bytes(name string) []byte {
	s := d.str(name)
	if s == "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		d.fault(name, err)
	}
	return b
}

func (d *partDecoder) parts(name string) []Part {
	v, ok := d.take(name)
	switch {
	case !ok:
		return nil
	case v[0] != '[':
		d.fault(name, fmt.Errorf("%w: want an array", jsonscan.ErrSyntax))
		return nil
	}
	parts, err := decodeParts(v)
	if err != nil {
		d.fault(name, err)
	}
	return parts
}

func (d *partDecoder) rest() map[string]json.RawMessage {
	if len(d.all) == 0 {
		return nil
	}
	x := make(map[string]json.RawMessage, len(d.all))
	for k, v := range d.all {
		x[k] = clone(v)
	}
	return x
}
