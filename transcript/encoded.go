package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Encoded is an item in its canonical JSON form with the few facts that a
// session needs at hand. It is a value and safe to share; JSON must not be
// changed.
type Encoded struct {
	JSON []byte

	id      string
	role    Role
	model   string
	finish  Finish
	uses    []string // ids of tool uses
	results []string // ids that tool results answer
	parts   []byte   // the raw array
	native  []byte   // the raw object, or nil
}

// Parse checks and indexes an item's JSON from an untrusted source. The bytes
// are compacted but otherwise kept as they are. Errors name what is malformed;
// what [Encoded.Decode] refuses is refused, such as a key that appears twice.
func Parse(b []byte) (Encoded, error) {
	var buf bytes.Buffer
	buf.Grow(len(b))
	if err := json.Compact(&buf, b); err != nil {
		return Encoded{}, fmt.Errorf("transcript: item: %w", err)
	}
	e, err := index(buf.Bytes())
	if err != nil {
		return Encoded{}, err
	}
	if _, err := e.Decode(); err != nil {
		return Encoded{}, err
	}
	return e, nil
}

// ParseTrusted indexes an item whose bytes this package wrote and a digest or a
// checksum has vouched for. It keeps b and decodes nothing. Bytes that are cut
// off or have no item's outline are an error; it does not look further.
func ParseTrusted(b []byte) (Encoded, error) { return index(b) }

// ParsePrefix is [ParseTrusted] for an item that other bytes follow. It returns
// how many bytes the item has. It reads every byte once.
func ParsePrefix(b []byte) (Encoded, int, error) {
	var e Encoded
	end, err := members(b, func(key []byte, at int) (end int, err error) {
		if string(key) == "parts" {
			end, err = e.indexParts(b, at)
		} else {
			end = jsonscan.ValueEnd(b, at)
		}
		if err != nil || end < 0 {
			return end, err
		}
		v := b[at:end]
		switch string(key) {
		case "id":
			e.id, err = unquote(v)
		case "role":
			e.role, err = roleOf(v)
		case "model":
			e.model, err = unquote(v)
		case "finish":
			e.finish, err = decodeString[Finish](v)
		case "native":
			e.native = v
		case "parts":
			e.parts = v
		}
		return end, err
	})
	if err == nil && !e.role.Valid() {
		err = fmt.Errorf("unknown role %q", e.role)
	}
	if err != nil {
		return Encoded{}, 0, fmt.Errorf("transcript: item %q: %w", e.id, err)
	}
	e.JSON = b[:end:end]
	return e, end, nil
}

func index(b []byte) (Encoded, error) {
	e, end, err := ParsePrefix(b)
	if err == nil && jsonscan.SkipSpace(b, end) < len(b) {
		err = fmt.Errorf("transcript: item %q: %w: bytes follow it", e.id, errSyntax)
	}
	if err != nil {
		return Encoded{}, err
	}
	e.JSON = b
	return e, nil
}

// roleOf reads a role without a copy of the usual ones.
func roleOf(lit []byte) (Role, error) {
	switch string(lit) {
	case `"user"`:
		return RoleUser, nil
	case `"assistant"`:
		return RoleAssistant, nil
	case `"tool"`:
		return RoleTool, nil
	}
	return decodeString[Role](lit)
}

// indexParts notes the tool uses and results of the array that starts at b[i]
// and returns the index after it, or -1.
func (e *Encoded) indexParts(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return -1, errors.New("parts is not an array")
	}
	i = jsonscan.SkipSpace(b, i+1)
	for i < len(b) && b[i] != ']' {
		end := jsonscan.ValueEnd(b, i)
		if end < 0 {
			return -1, nil
		}
		if err := e.indexPart(RawPart(b[i:end])); err != nil {
			return -1, err
		}
		i = jsonscan.SkipSpace(b, end)
		if i < len(b) && b[i] == ',' {
			i = jsonscan.SkipSpace(b, i+1)
		}
	}
	if i >= len(b) {
		return -1, nil
	}
	return i + 1, nil
}

func (e *Encoded) indexPart(p RawPart) error {
	switch p.Type() {
	case "tool_use":
		id, err := unquote(p.Field("id"))
		if err != nil || id == "" {
			return errors.New("a tool use has no id")
		}
		e.uses = append(e.uses, id)
	case "tool_result":
		id, err := unquote(p.Field("use_id"))
		if err != nil || id == "" {
			return errors.New("a tool result has no tool-use id")
		}
		e.results = append(e.results, id)
	}
	return nil
}

// ID is the item's id.
func (e Encoded) ID() string { return e.id }

// Role is the item's role.
func (e Encoded) Role() Role { return e.role }

// Model is the model that an assistant item came from.
func (e Encoded) Model() string { return e.model }

// Finish is an assistant item's finish reason.
func (e Encoded) Finish() Finish { return e.finish }

// UseIDs lists the ids of the item's tool uses in order. Do not change it.
func (e Encoded) UseIDs() []string { return e.uses }

// ResultIDs lists the tool-use ids that the item answers. Do not change it.
func (e Encoded) ResultIDs() []string { return e.results }

// IsZero reports whether e is the zero value.
func (e Encoded) IsZero() bool { return e.JSON == nil }

// Uses unpacks the item's tool uses, without their Extra. Input is raw JSON as the item holds it.
func (e Encoded) Uses() []ToolUse {
	uses := make([]ToolUse, 0, len(e.uses))
	for p := range e.Parts() {
		if p.Type() != "tool_use" {
			continue
		}
		id, _ := unquote(p.Field("id"))
		name, _ := unquote(p.Field("name"))
		uses = append(uses, ToolUse{ID: id, Name: name, Input: json.RawMessage(p.Field("input"))})
	}
	return uses
}

// Parts yields the item's parts as raw slices of its JSON.
func (e Encoded) Parts() iter.Seq[RawPart] {
	return func(yield func(RawPart) bool) {
		for v := range elements(e.parts) {
			if !yield(RawPart(v)) {
				return
			}
		}
	}
}

// Native returns the provider's own message for the given wire, or nil when the
// item has none or has one of another wire.
func (e Encoded) Native(api string) json.RawMessage {
	if e.native == nil {
		return nil
	}
	n := RawPart(e.native)
	if got, _ := unquote(n.Field("api")); got != api {
		return nil
	}
	return json.RawMessage(n.Field("json"))
}

// Text returns the text parts joined by newlines.
func (e Encoded) Text() string {
	var b bytes.Buffer
	for p := range e.Parts() {
		if p.Type() == "text" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			s, _ := unquote(p.Field("text"))
			b.WriteString(s)
		}
	}
	return b.String()
}

// RawPart is the JSON object of one part (or of any object) as stored.
type RawPart []byte

// Type returns the part's "type", or "".
func (p RawPart) Type() string {
	// The encoder writes the type first, so the common case is a prefix.
	const prefix = `{"type":"`
	if bytes.HasPrefix(p, []byte(prefix)) {
		rest := p[len(prefix):]
		if before, _, ok := bytes.Cut(rest, []byte{'"'}); ok {
			switch string(before) { // no copies of the usual names
			case "text":
				return "text"
			case "thinking":
				return "thinking"
			case "tool_use":
				return "tool_use"
			case "tool_result":
				return "tool_result"
			}
			if isPlain(before) {
				return string(before)
			}
		}
	}
	s, _ := unquote(p.Field("type"))
	return s
}

var errFound = errors.New("found")

// Field returns the raw JSON of one member, or nil. A string keeps its quotes
// and escapes, so it can be copied into another document as it is.
func (p RawPart) Field(name string) []byte {
	var found []byte
	_ = fields(p, func(key, v []byte) error {
		if string(key) == name {
			found = v
			return errFound
		}
		return nil
	})
	return found
}

// Elements yields the elements of an array member.
func (p RawPart) Elements(name string) iter.Seq[RawPart] {
	return func(yield func(RawPart) bool) {
		for v := range elements(p.Field(name)) {
			if !yield(RawPart(v)) {
				return
			}
		}
	}
}
