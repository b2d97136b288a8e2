package mcpserver

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/transcript"
)

// result converts a tool's result to MCP.
func result(r *transcript.ToolResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: r.IsError, Content: []mcp.Content{}}
	for _, p := range r.Content {
		switch p := p.(type) {
		case transcript.Text:
			out.Content = append(out.Content, &mcp.TextContent{Text: p.Text})
		case transcript.Media:
			out.Content = append(out.Content, media(p))
		case transcript.File:
			out.Content = append(out.Content, file(p))
		case transcript.Structured:
			out.Content = append(out.Content, &mcp.TextContent{Text: string(p.Value)})
			var object map[string]any
			if json.Unmarshal(p.Value, &object) == nil && object != nil {
				out.StructuredContent = p.Value
			}
		}
	}
	return out
}

func media(m transcript.Media) mcp.Content {
	kind, _, _ := strings.Cut(m.MIME, "/")
	switch {
	case m.Data == nil:
		return &mcp.ResourceLink{URI: m.URI, Name: m.URI, MIMEType: m.MIME}
	case kind == "image":
		return &mcp.ImageContent{Data: m.Data, MIMEType: m.MIME}
	case kind == "audio":
		return &mcp.AudioContent{Data: m.Data, MIMEType: m.MIME}
	}
	return file(transcript.File{Name: "data", MIME: m.MIME, Data: m.Data})
}

func file(f transcript.File) mcp.Content {
	if f.Data == nil {
		return &mcp.ResourceLink{URI: f.URI, Name: f.Name, MIMEType: f.MIME}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:" + f.Name, MIMEType: f.MIME, Blob: f.Data}}
}
