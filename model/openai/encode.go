package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/transcript"
)

const (
	roleSystem    = "system"
	roleDeveloper = "developer"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"

	// roleToolMedia marks encoded tool messages that are followed, after a line break, by the user
	// message with their images. Two messages are needed because tool messages can only contain
	// text, and a user message may only follow the last tool message of a round.
	roleToolMedia = "tool+media"

	reminderStart = `<system-reminder>\n`
	reminderEnd   = `\n</system-reminder>`
)

// Encode returns an item's messages, separated by commas: one, or one per tool result. An assistant
// item that this API returned is sent unchanged.
func (m *adapter) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	switch item.Role() {
	case transcript.RoleAssistant:
		if native := item.Native(apiName); len(native) > 0 {
			if native[0] != '{' {
				return model.EncodedItem{}, fmt.Errorf("%s: item %q: the native form is not an object", m.info.Provider, item.ID())
			}
			return model.EncodedItem{Role: roleAssistant, JSON: native}, nil
		}
		return encodeAnswer(item), nil
	case transcript.RoleSystem:
		return encodeMessage(item, roleSystem, "", ""), nil
	case transcript.RoleDeveloper:
		if m.official {
			return encodeMessage(item, roleDeveloper, "", ""), nil
		}
		return encodeMessage(item, roleSystem, "", ""), nil
	case transcript.RoleNotification:
		return encodeMessage(item, roleUser, reminderStart, reminderEnd), nil
	}
	if len(item.ResultIDs()) > 0 {
		return encodeResults(item), nil
	}
	return encodeMessage(item, roleUser, "", ""), nil
}

func encodeMessage(item transcript.Encoded, role, before, after string) model.EncodedItem {
	c := content{before: before, after: after, media: role == roleUser}
	for p := range item.Parts() {
		c.part(p)
	}
	if c.empty() {
		return model.EncodedItem{}
	}
	b := make([]byte, 0, len(item.JSON)+32)
	b = append(b, `{"role":"`...)
	b = append(b, role...)
	b = append(b, `","content":`...)
	return model.EncodedItem{Role: role, JSON: append(c.appendTo(b), '}')}
}

func encodeAnswer(item transcript.Encoded) model.EncodedItem {
	var c content
	calls := 0
	b := make([]byte, 0, len(item.JSON)+64)
	for p := range item.Parts() {
		switch p.Type() {
		case "text":
			c.part(p)
		case "tool_use":
			if calls++; calls == 1 {
				b = append(b, `,"tool_calls":[`...)
			} else {
				b = append(b, ',')
			}
			b = appendCall(b, p.Field("id"), p.Field("name"), p.Field("input"), nil)
		}
	}
	if calls > 0 {
		b = append(b, ']')
	} else if c.empty() {
		return model.EncodedItem{}
	}
	w := make([]byte, 0, len(b)+len(item.JSON))
	w = append(w, `{"role":"assistant","content":`...)
	if c.empty() {
		w = append(w, "null"...)
	} else {
		w = c.appendTo(w)
	}
	return model.EncodedItem{Role: roleAssistant, JSON: append(append(w, b...), '}')}
}

// appendCall writes a tool call. The id and the name are JSON strings, input is a JSON value, and
// extra contains additional fields of the server for the call, or is nil.
func appendCall(b, id, name, input, extra []byte) []byte {
	b = append(append(b, `{"id":`...), id...)
	b = append(append(b, `,"type":"function","function":{"name":`...), name...)
	b = append(b, `,"arguments":`...)
	if len(input) > 0 && input[0] == '{' {
		b = call.AppendQuoted(b, input)
	} else {
		b = call.AppendQuoted(b, call.AppendInput(nil, input))
	}
	b = append(b, '}')
	if len(extra) > 0 {
		b = append(append(b, `,"extra_content":`...), extra...)
	}
	return append(b, '}')
}

func encodeResults(item transcript.Encoded) model.EncodedItem {
	b := make([]byte, 0, len(item.JSON)+64)
	media := content{media: true}
	for p := range item.Parts() {
		if p.Type() != "tool_result" {
			media.part(p)
			continue
		}
		if id, text, isError, ok := call.PlainResult(p); ok {
			b = appendResult(b, id, text, isError)
			continue
		}
		c := content{overflow: &media}
		isError := string(p.Field("is_error")) == "true"
		for e := range p.Elements("content") {
			c.part(e)
		}
		b = appendResult(b, call.LiteralText(p.Field("use_id")), c.text, isError)
	}
	if media.empty() {
		return model.EncodedItem{Role: roleTool, JSON: b}
	}
	b = append(b, "\n"+`{"role":"user","content":`...)
	return model.EncodedItem{Role: roleToolMedia, JSON: append(media.appendTo(b), '}')}
}

// appendResult writes a tool message; id and text are escaped JSON strings without their quotes.
// The API has no field for errors, so an error has the prefix "error: ".
func appendResult(b, id, text []byte, isError bool) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = append(append(b, `{"role":"tool","tool_call_id":"`...), id...)
	b = append(b, `","content":"`...)
	if isError {
		b = append(b, "error: "...)
	}
	return append(append(b, text...), `"}`...)
}

// content is the content of a message. While it contains only text, it is one string, which every
// server supports; otherwise it is an array of parts.
type content struct {
	before, after string   // added before and after each text; escaped, without quotes
	media         bool     // the message may contain images and files
	overflow      *content // receives media that this message cannot contain, or nil

	text  []byte // the inside of a literal
	array []byte // all parts from the first one that is not text
}

func (c *content) empty() bool { return len(c.text) == 0 && len(c.array) == 0 }

func (c *content) part(p jsonscan.Object) {
	if inner, ok := call.TextLiteral(p); ok {
		c.addText(inner)
		return
	}
	switch p.Type() {
	case "text":
		c.addText(call.LiteralText(p.Field("text")))
	case "structured":
		if v := p.Field("value"); len(v) > 0 {
			c.addText(call.AppendEscaped(nil, v))
		}
	case "media", "file":
		c.addMedia(p)
	}
}

func (c *content) addText(inner []byte) {
	if len(inner) == 0 {
		return
	}
	if len(c.array) > 0 {
		c.flush(inner)
		return
	}
	if len(c.text) > 0 {
		c.text = append(c.text, `\n`...)
	}
	c.text = append(c.text, inner...)
}

// flush moves the text into the array, as a separate part.
func (c *content) flush(inner []byte) {
	if len(inner) == 0 {
		return
	}
	c.next()
	c.array = append(c.array, `{"type":"text","text":"`...)
	c.array = append(c.array, c.before...)
	c.array = append(c.array, inner...)
	c.array = append(c.array, c.after...)
	c.array = append(c.array, `"}`...)
}

func (c *content) next() {
	if len(c.array) > 0 {
		c.array = append(c.array, ',')
	}
}

// addMedia adds an image, audio or a PDF; unsupported media are named in the text.
func (c *content) addMedia(p jsonscan.Object) {
	mime, data, uri := unquote(p.Field("mime")), call.LiteralText(p.Field("data")), call.LiteralText(p.Field("uri"))
	name := p.Field("name")
	var b []byte
	switch {
	case strings.HasPrefix(mime, "image/") && len(data) > 0:
		b = append(b, `{"type":"image_url","image_url":{"url":"data:`...)
		b = append(append(append(b, mime...), ";base64,"...), data...)
		b = append(b, `"}}`...)
	case strings.HasPrefix(mime, "image/") && strings.HasPrefix(string(uri), "http"):
		b = append(append(append(b, `{"type":"image_url","image_url":{"url":"`...), uri...), `"}}`...)
	case (mime == "audio/wav" || mime == "audio/mpeg" || mime == "audio/mp3") && len(data) > 0:
		format := "mp3"
		if mime == "audio/wav" {
			format = "wav"
		}
		b = append(append(append(b, `{"type":"input_audio","input_audio":{"data":"`...), data...), `","format":"`+format+`"}}`...)
	case mime == "application/pdf" && len(data) > 0:
		if len(name) <= 2 {
			name = []byte(`"document.pdf"`)
		}
		b = append(append(append(b, `{"type":"file","file":{"filename":`...), name...), `,"file_data":"data:application/pdf;base64,`...)
		b = append(append(b, data...), `"}}`...)
	}
	switch {
	case len(b) > 0 && c.media:
		c.flush(c.text)
		c.text = nil
		c.next()
		c.array = append(c.array, b...)
	case len(b) > 0 && c.overflow != nil:
		c.note("[%s: shown below]", mime)
		c.overflow.part(p)
	default:
		c.note("[%s %s: not shown]", mime, unquote(name)+unquote(p.Field("uri")))
	}
}

func (c *content) note(format string, args ...any) {
	c.addText(call.LiteralText(jsonscan.AppendString(nil, fmt.Sprintf(format, args...))))
}

func (c *content) appendTo(b []byte) []byte {
	if len(c.array) > 0 {
		return append(append(append(b, '['), c.array...), ']')
	}
	b = append(append(b, '"'), c.before...)
	b = append(append(b, c.text...), c.after...)
	return append(b, '"')
}

func unquote(lit []byte) string {
	var s string
	_ = json.Unmarshal(lit, &s)
	return s
}
