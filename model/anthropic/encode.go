package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/transcript"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"

	reminderStart = `<system-reminder>\n`
	reminderEnd   = `\n</system-reminder>`
)

// Encode returns an item's content blocks, separated by commas and without brackets: a request
// joins adjacent items of one role into one message. An assistant item that this API returned is
// sent unchanged. Texts of the runtime (system, developer and notification items) become user text
// inside a system-reminder element.
func (m *adapter) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	if item.Role() == transcript.RoleAssistant {
		if native := item.Native(apiName); len(native) > 0 {
			if native[0] != '[' || native[len(native)-1] != ']' {
				return model.EncodedItem{}, fmt.Errorf("anthropic: item %q: the native form is not an array", item.ID())
			}
			return encodedItem(roleAssistant, native[1:len(native)-1:len(native)-1]), nil
		}
		b := blocks{json: make([]byte, 0, len(item.JSON))}
		for p := range item.Parts() {
			b.answerPart(p)
		}
		return encodedItem(roleAssistant, b.json), nil
	}
	b := blocks{json: make([]byte, 0, len(item.JSON))}
	switch item.Role() {
	case transcript.RoleSystem, transcript.RoleDeveloper, transcript.RoleNotification:
		b.before, b.after = reminderStart, reminderEnd
	}
	if results := len(item.ResultIDs()); results > 0 { // the API requires that they come first
		parts := 0
		for p := range item.Parts() {
			if parts++; p.Type() == "tool_result" {
				b.result(p)
			}
		}
		if parts == results {
			return encodedItem(roleUser, b.json), nil
		}
	}
	for p := range item.Parts() {
		b.part(p)
	}
	return encodedItem(roleUser, b.json), nil
}

func encodedItem(role string, json []byte) model.EncodedItem {
	if len(json) == 0 {
		return model.EncodedItem{}
	}
	return model.EncodedItem{Role: role, JSON: json}
}

// blocks collects content blocks. Strings are copied from item to block as JSON, including quotes and
// escapes.
type blocks struct {
	json          []byte
	before, after string // around text, as they are inside a literal
}

func (b *blocks) open(head string) {
	if n := len(b.json); n > 0 && b.json[n-1] == '}' {
		b.json = append(b.json, ',')
	}
	b.json = append(b.json, head...)
}

func (b *blocks) add(pieces ...[]byte) {
	for _, p := range pieces {
		b.json = append(b.json, p...)
	}
}

// text adds a text block; inner is an escaped JSON string without its quotes. The API rejects empty
// text.
func (b *blocks) text(inner []byte) {
	if len(inner) == 0 {
		return
	}
	b.open(`{"type":"text","text":"`)
	b.json = append(b.json, b.before...)
	b.json = append(b.json, inner...)
	b.json = append(b.json, b.after...)
	b.json = append(b.json, `"}`...)
}

// note adds text in place of content that the API does not support.
func (b *blocks) note(format string, args ...any) {
	lit := jsonscan.AppendString(nil, fmt.Sprintf(format, args...))
	b.text(call.LiteralText(lit))
}

func (b *blocks) answerPart(p jsonscan.Object) {
	switch p.Type() {
	case "text":
		b.text(call.LiteralText(p.Field("text")))
	case "tool_use":
		b.open(`{"type":"tool_use","id":"`)
		b.json = appendID(b.json, call.LiteralText(p.Field("id")))
		b.add([]byte(`","name":`), p.Field("name"), []byte(`,"input":`))
		b.json = call.AppendInput(b.json, p.Field("input"))
		b.json = append(b.json, '}')
	}
}

func (b *blocks) part(p jsonscan.Object) {
	if inner, ok := call.TextLiteral(p); ok {
		b.text(inner)
		return
	}
	switch p.Type() {
	case "text":
		b.text(call.LiteralText(p.Field("text")))
	case "structured":
		if v := p.Field("value"); len(v) > 0 {
			b.text(call.AppendEscaped(nil, v))
		}
	case "media":
		b.media(p)
	case "file":
		b.file(p)
	}
}

func (b *blocks) result(p jsonscan.Object) {
	b.open(`{"type":"tool_result","tool_use_id":"`)
	if id, text, isError, ok := call.PlainResult(p); ok && len(text) > 0 {
		b.json = appendID(b.json, id)
		b.json = append(b.json, `","content":[{"type":"text","text":"`...)
		b.json = append(b.json, text...)
		b.json = append(b.json, `"}]`...)
		b.endResult(isError)
		return
	}
	b.json = appendID(b.json, call.LiteralText(p.Field("use_id")))
	isError := string(p.Field("is_error")) == "true"
	const content = `","content":[`
	b.json = append(b.json, content...)
	start := len(b.json)
	inner := blocks{json: b.json}
	for e := range p.Elements("content") {
		inner.part(e)
	}
	if len(inner.json) == start && isError { // the API rejects an error that has no content
		inner.note("the tool failed without output")
	}
	b.json = inner.json
	if len(b.json) == start {
		b.json = append(b.json[:start-len(content)], '"')
	} else {
		b.json = append(b.json, ']')
	}
	b.endResult(isError)
}

func (b *blocks) endResult(isError bool) {
	if isError {
		b.json = append(b.json, `,"is_error":true`...)
	}
	b.json = append(b.json, '}')
}

// media adds an image of a supported type; for other media it adds only the name.
func (b *blocks) media(p jsonscan.Object) {
	mime, data, uri := p.Field("mime"), p.Field("data"), p.Field("uri")
	switch string(mime) {
	case `"image/png"`, `"image/jpeg"`, `"image/gif"`, `"image/webp"`:
		switch {
		case len(data) > 2:
			b.open(`{"type":"image","source":{"type":"base64","media_type":`)
			b.add(mime, []byte(`,"data":`), data, []byte("}}"))
			return
		case isWebURL(uri):
			b.open(`{"type":"image","source":{"type":"url","url":`)
			b.add(uri, []byte("}}"))
			return
		}
	}
	b.note("[%s %s: not shown]", unquoteOr(mime, "media"), unquoteOr(uri, "without an address"))
}

// file adds a PDF or a plain text as a document; other files are only named.
func (b *blocks) file(p jsonscan.Object) {
	name, mime, data, uri := p.Field("name"), p.Field("mime"), p.Field("data"), p.Field("uri")
	title := func() {
		if len(name) > 2 {
			b.add([]byte(`,"title":`), name)
		}
		b.json = append(b.json, '}')
	}
	isPDF := string(mime) == `"application/pdf"`
	switch {
	case isPDF && len(data) > 2:
		b.open(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":`)
		b.add(data, []byte("}"))
		title()
		return
	case isPDF && isWebURL(uri):
		b.open(`{"type":"document","source":{"type":"url","url":`)
		b.add(uri, []byte("}"))
		title()
		return
	case strings.HasPrefix(string(mime), `"text/`) && len(data) > 2:
		if text, err := base64.StdEncoding.DecodeString(string(call.LiteralText(data))); err == nil && len(text) > 0 {
			b.open(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":`)
			b.json = jsonscan.AppendString(b.json, string(text))
			b.json = append(b.json, '}')
			title()
			return
		}
	}
	b.note("[file %s %s: not shown]", unquoteOr(name, "without a name"), unquoteOr(mime, ""))
}

func isWebURL(uri []byte) bool {
	s := string(call.LiteralText(uri))
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

func unquoteOr(lit []byte, without string) string {
	var s string
	if json.Unmarshal(lit, &s) != nil || s == "" {
		return without
	}
	return s
}

// appendID writes a tool-use id. The API accepts letters, digits, "_" and "-", but ids of other
// providers may contain other characters. The ids of the tool use and of its result are changed in
// the same way.
func appendID(dst, id []byte) []byte {
	for _, c := range id {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			c = '_'
		}
		dst = append(dst, c)
	}
	return dst
}
