package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Encoded is an item in its canonical JSON form, with an index of the fields that a session needs.
// It is a value and safe to share. Do not change JSON.
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
// are compacted but otherwise unchanged. Errors name what is malformed. Parse rejects everything
// that [Encoded.Decode] rejects, such as a duplicate key.
func (e *Encoded) Parse(b []byte) error {
	var buf bytes.Buffer
	buf.Grow(len(b))
	if err := json.Compact(&buf, b); err != nil {
		return fmt.Errorf("transcript: item: %w", err)
	}
	item, err := index(buf.Bytes())
	if err != nil {
		return err
	}
	if _, err := item.Decode(); err != nil {
		return err
	}
	*e = item
	return nil
}

// IndexTrusted makes e the item in b, which this package wrote and which a digest or checksum
// protects. It keeps b and decodes nothing. It returns an error for truncated bytes and for bytes
// that do not have the structure of an item, and checks nothing else.
func (e *Encoded) IndexTrusted(b []byte) (err error) {
	*e, err = index(b)
	return err
}

// IndexPrefix is [Encoded.IndexTrusted] for an item that other bytes follow. It returns the length
// of the item in bytes. It reads every byte once.
func (e *Encoded) IndexPrefix(b []byte) (n int, err error) {
	*e, n, err = indexPrefix(b)
	return n, err
}

func indexPrefix(b []byte) (Encoded, int, error) {
	var e Encoded
	end, err := jsonscan.Members(b, func(key []byte, at int) (end int, err error) {
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
			e.id, err = jsonscan.Unquote(v)
		case "role":
			e.role, err = roleOf(v)
		case "model":
			e.model, err = jsonscan.Unquote(v)
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
	e, end, err := indexPrefix(b)
	if err == nil && jsonscan.SkipSpace(b, end) < len(b) {
		err = fmt.Errorf("transcript: item %q: %w: bytes follow it", e.id, jsonscan.ErrSyntax)
	}
	if err != nil {
		return Encoded{}, err
	}
	e.JSON = b
	return e, nil
}

// roleOf reads a role. It does not allocate memory for the common ones.
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
		if err := e.indexPart(jsonscan.Object(b[i:end])); err != nil {
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

func (e *Encoded) indexPart(p jsonscan.Object) error {
	switch p.Type() {
	case "tool_use":
		id, err := jsonscan.Unquote(p.Field("id"))
		if err != nil || id == "" {
			return errors.New("a tool use has no id")
		}
		e.uses = append(e.uses, id)
	case "tool_result":
		id, err := jsonscan.Unquote(p.Field("use_id"))
		if err != nil || id == "" {
			return errors.New("a tool result has no tool-use id")
		}
		e.results = append(e.results, id)
	}
	return nil
}

// ID returns the item's id.
func (e Encoded) ID() string { return e.id }

// Role returns the item's role.
func (e Encoded) Role() Role { return e.role }

// Model returns the model of an assistant item.
func (e Encoded) Model() string { return e.model }

// Finish returns the finish reason of an assistant item.
func (e Encoded) Finish() Finish { return e.finish }

// UseIDs returns the ids of the item's tool uses in order. Do not change the slice.
func (e Encoded) UseIDs() []string { return e.uses }

// ResultIDs returns the ids of the tool uses that the item answers. Do not change the slice.
func (e Encoded) ResultIDs() []string { return e.results }

// IsZero reports whether e is the zero value.
func (e Encoded) IsZero() bool { return e.JSON == nil }

// Uses returns the item's tool uses, without their Extra. Input is the raw JSON of the item.
func (e Encoded) Uses() []ToolUse {
	uses := make([]ToolUse, 0, len(e.uses))
	for p := range e.Parts() {
		if p.Type() != "tool_use" {
			continue
		}
		id, _ := jsonscan.Unquote(p.Field("id"))
		name, _ := jsonscan.Unquote(p.Field("name"))
		uses = append(uses, ToolUse{ID: id, Name: name, Input: json.RawMessage(p.Field("input"))})
	}
	return uses
}

// Parts yields the item's parts as raw slices of its JSON.
func (e Encoded) Parts() iter.Seq[jsonscan.Object] {
	return func(yield func(jsonscan.Object) bool) {
		for v := range jsonscan.Elements(e.parts) {
			if !yield(jsonscan.Object(v)) {
				return
			}
		}
	}
}

// Native returns the provider's own message for an API, or nil if the item has none or one of
// another API.
func (e Encoded) Native(api string) json.RawMessage {
	if e.native == nil {
		return nil
	}
	n := jsonscan.Object(e.native)
	if got, _ := jsonscan.Unquote(n.Field("api")); got != api {
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
			s, _ := jsonscan.Unquote(p.Field("text"))
			b.WriteString(s)
		}
	}
	return b.String()
}
