package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Limits of one result.
const (
	maxText     = 100_000 // limit in bytes for text and structured content together
	maxMedia    = 5 << 20 // bytes of one image, audio or document
	maxAllMedia = 10 << 20
	maxParts    = 64
)

// parts collects the content of a result for the model.
type parts struct {
	list  []transcript.Part
	text  int // bytes so far
	media int
	cut   int // number of bytes of text that were removed
	more  int // number of omitted parts
}

// resultOf converts a server's result.
func resultOf(r *sdk.CallToolResult) tool.Result {
	if r == nil {
		return tool.Failure("the server returned no result")
	}
	p := &parts{}
	whole := structured(r.StructuredContent)
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok && len(whole) > 0 && sameJSON(t.Text, r.StructuredContent) {
			p.addValue(whole)
			whole = nil
			continue
		}
		p.add(c)
	}
	if len(whole) > 0 {
		p.addValue(whole)
	}
	p.close()
	return tool.Result{Content: p.list, IsError: r.IsError}
}

// add adds one part of a result.
func (p *parts) add(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		p.addText(c.Text)
	case *sdk.ImageContent:
		p.addBlob("image", c.MIMEType, "", c.Data)
	case *sdk.AudioContent:
		p.addBlob("audio", c.MIMEType, "", c.Data)
	case *sdk.ResourceLink:
		p.addText(linkText(c))
	case *sdk.EmbeddedResource:
		p.addResource(c.Resource)
	default:
		p.addText(fmt.Sprintf("[unsupported content: %T]", c))
	}
}

// linkText returns the text for a resource link.
func linkText(c *sdk.ResourceLink) string {
	return "[resource " + describe(c.URI, c.MIMEType, c.Title, c.Name, c.Description) + "]"
}

// addResource adds the content of a resource.
func (p *parts) addResource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case len(r.Blob) > 0:
		p.addBlob("resource", r.MIMEType, r.URI, r.Blob)
	default:
		p.addText("[resource " + truncate.String(oneLine(r.URI), 1000) + "]\n" + r.Text)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(shown(s)), " ") }

func (p *parts) addText(s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	left := maxText - p.text
	if len(s) > left {
		whole := s
		s = strings.TrimSuffix(truncate.String(s, max(left, 0)), "…")
		p.cut += len(whole) - len(s)
	}
	p.text += len(s)
	if s != "" {
		p.append(transcript.Text{Text: s})
	}
}

// addValue adds structured content. It adds all of it or nothing.
func (p *parts) addValue(raw json.RawMessage) {
	if len(raw) > maxText-p.text {
		p.addText(string(raw))
		return
	}
	p.text += len(raw)
	p.append(transcript.Structured{Value: raw})
}

// addBlob adds binary content. The server's media type is used only if the bytes match it, because the
// model's provider would reject a wrong type in this and every later request.
func (p *parts) addBlob(what, mime, uri string, data []byte) {
	mime = strings.ToLower(oneLine(mime))
	kind, ok := mediaType(mime, data)
	note := func(why string) {
		text := fmt.Sprintf("[%s, %s, %d bytes", what, orElse(truncate.String(mime, 100), "no type"), len(data))
		if uri != "" {
			text += ", " + truncate.String(oneLine(uri), 1000)
		}
		p.addText(text + ": " + why + "]")
	}
	switch {
	case len(data) == 0:
		note("empty")
	case len(data) > maxMedia || p.media+len(data) > maxAllMedia:
		note("too large to show")
	case !ok:
		note("cannot be shown")
	case kind == "application/pdf":
		p.media += len(data)
		p.append(transcript.File{Name: truncate.String(oneLine(uri), 200), MIME: kind, Data: data})
	default:
		p.media += len(data)
		p.append(transcript.Media{MIME: kind, Data: data})
	}
}

// mediaType returns the media type of bytes if models can read it.
func mediaType(claimed string, data []byte) (string, bool) {
	switch is := http.DetectContentType(data); is {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return is, true
	case "audio/wave":
		return "audio/wav", true
	case "audio/mpeg":
		return is, true
	}
	frame := len(data) > 1 && data[0] == 0xff && data[1]&0xe0 == 0xe0 // MPEG audio without an ID3 tag
	return "audio/mpeg", frame && (claimed == "audio/mpeg" || claimed == "audio/mp3")
}

func (p *parts) append(part transcript.Part) {
	if len(p.list) >= maxParts {
		p.more++
		return
	}
	p.list = append(p.list, part)
}

// close adds notes about omitted content.
func (p *parts) close() {
	var notes []string
	if p.cut > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes of the text", p.cut))
	}
	if p.more > 0 {
		notes = append(notes, fmt.Sprintf("%d parts", p.more))
	}
	if len(notes) > 0 {
		p.list = append(p.list, transcript.Text{Text: "[the result is too long: " + strings.Join(notes, " and ") + " are omitted]"})
	}
	if len(p.list) == 0 {
		p.list = []transcript.Part{transcript.Text{Text: "[the tool returned nothing]"}}
	}
}

// structured returns structured content as JSON; nil if there is none.
func structured(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, _ := jsonscan.Marshal(v) // nil when it fails
	return b
}

// sameJSON reports whether a text is the structured content encoded as JSON.
func sameJSON(text string, v any) bool {
	if len(text) > maxText || !strings.HasPrefix(strings.TrimSpace(text), "{") && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return false
	}
	var other any
	return json.Unmarshal([]byte(text), &other) == nil && reflect.DeepEqual(other, v)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
