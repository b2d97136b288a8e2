package toolqueue

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// block is a content block of the Model Context Protocol, which other protocols use too.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"` // base64 in JSON
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource *struct {
		URI  string `json:"uri"`
		MIME string `json:"mimeType"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"`
}

// Content parses a list of content blocks. It keeps a block that is invalid as text.
func Content(raw json.RawMessage) []transcript.Part {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var parts []transcript.Part
	for _, b := range list {
		parts = append(parts, Block(b))
	}
	return parts
}

// Block parses one content block.
func Block(raw json.RawMessage) transcript.Part {
	var b block
	if json.Unmarshal(raw, &b) != nil {
		return transcript.Structured{Value: raw}
	}
	switch {
	case b.Type == "text":
		return transcript.Text{Text: b.Text}
	case b.Type == "image", b.Type == "audio":
		return transcript.Media{MIME: b.MIME, Data: b.Data, URI: b.URI}
	case b.Type == "resource_link":
		return transcript.File{Name: b.Name, MIME: b.MIME, URI: b.URI}
	case b.Type == "resource" && b.Resource != nil:
		data := b.Resource.Blob
		if b.Resource.Text != "" {
			data = []byte(b.Resource.Text)
		}
		return transcript.File{Name: b.Resource.URI, MIME: b.Resource.MIME, Data: data, URI: b.Resource.URI}
	}
	return transcript.Structured{Value: raw}
}
