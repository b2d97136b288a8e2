package transcript

import (
	"encoding/json"
	"strings"
)

// Part is one piece of an item. The set is closed: [Text], [Thinking],
// [ToolUse], [ToolResult], [Media], [File], [Structured], [Custom], and
// [Unknown] for parts of newer versions.
type Part interface {
	partType() string
}

// Text is plain text.
type Text struct {
	Text  string
	Extra map[string]json.RawMessage
}

// Thinking is a model's reasoning. Redacted thinking has Data instead of Text.
type Thinking struct {
	Text      string
	Signature string // the provider's signature, sent back unchanged
	Data      string // opaque data if Redacted
	Redacted  bool
	Extra     map[string]json.RawMessage
}

// ToolUse is a model's request to run a tool.
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage // the JSON value that the model wrote, compacted
	Extra map[string]json.RawMessage
}

// ToolResult answers the tool use whose id is UseID.
type ToolResult struct {
	UseID   string
	Content []Part // Text, Media, File and Structured parts
	IsError bool
	Extra   map[string]json.RawMessage
}

// Media is an image, audio or video, inline or by URI. Its JSON form with these tags is that of the
// images of a run spec. The JSON form of an item has all fields, and a type.
type Media struct {
	Name  string                     `json:"name,omitempty" jsonschema:"file name, for users"`
	MIME  string                     `json:"mime,omitempty" jsonschema:"image/png, image/jpeg, image/gif or image/webp; default: from the content"`
	Data  []byte                     `json:"data" jsonschema:"the content as base64"`
	URI   string                     `json:"-"` // address of the data, if it is not inline
	Extra map[string]json.RawMessage `json:"-"`
}

// File is a document, inline or by URI.
type File struct {
	Name  string
	MIME  string
	Data  []byte
	URI   string
	Extra map[string]json.RawMessage
}

// Structured is a JSON value with an optional schema.
type Structured struct {
	Value  json.RawMessage
	Schema json.RawMessage
	Extra  map[string]json.RawMessage
}

// Custom is a part of the host. Models do not see it.
type Custom struct {
	Kind  string
	Value json.RawMessage
	Extra map[string]json.RawMessage
}

// Unknown is a part of a type that this version does not know, stored unchanged.
type Unknown struct {
	Type string
	JSON json.RawMessage
}

func (Text) partType() string       { return "text" }
func (Thinking) partType() string   { return "thinking" }
func (ToolUse) partType() string    { return "tool_use" }
func (ToolResult) partType() string { return "tool_result" }
func (Media) partType() string      { return "media" }
func (File) partType() string       { return "file" }
func (Structured) partType() string { return "structured" }
func (Custom) partType() string     { return "custom" }
func (u Unknown) partType() string  { return u.Type }

// Text returns the result's text and structured content, joined by newlines.
func (r ToolResult) Text() string {
	var list []string
	for _, p := range r.Content {
		switch p := p.(type) {
		case Text:
			list = append(list, p.Text)
		case Structured:
			list = append(list, string(p.Value))
		}
	}
	return strings.Join(list, "\n")
}
