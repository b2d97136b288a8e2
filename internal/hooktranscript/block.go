package hooktranscript

import (
	"encoding/base64"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	redactedBlock struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
	useBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	resultBlock struct {
		UseID   string `json:"tool_use_id"`
		Type    string `json:"type"`
		Content any    `json:"content"` // text, or blocks
		IsError bool   `json:"is_error"`
	}
	mediaBlock struct {
		Type   string `json:"type"`
		Source source `json:"source"`
	}
	source struct {
		Type  string `json:"type"`
		Media string `json:"media_type,omitempty"`
		Data  string `json:"data,omitempty"`
		URL   string `json:"url,omitempty"`
	}
)

// blocks returns the content blocks of parts. A part for which Claude Code has no block becomes a
// text block with its kind.
func blocks(parts []transcript.Part) []any {
	list := make([]any, 0, len(parts))
	for _, p := range parts {
		list = append(list, block(p))
	}
	return list
}

func block(p transcript.Part) any {
	switch p := p.(type) {
	case transcript.Text:
		return textBlock{"text", p.Text}
	case transcript.Thinking:
		if p.Redacted {
			return redactedBlock{"redacted_thinking", p.Data}
		}
		return thinkingBlock{"thinking", p.Text, p.Signature}
	case transcript.ToolUse:
		return useBlock{"tool_use", p.ID, p.Name, p.Input}
	case transcript.ToolResult:
		return resultBlock{p.UseID, "tool_result", resultContent(p.Content), p.IsError}
	case transcript.Media:
		return mediaBlock{"image", sourceOf(p.MIME, p.Data, p.URI)}
	case transcript.File:
		return mediaBlock{"document", sourceOf(p.MIME, p.Data, p.URI)}
	case transcript.Structured:
		return textBlock{"text", string(p.Value)}
	case transcript.Custom:
		return textBlock{"text", "[" + p.Kind + "]"}
	case transcript.Unknown:
		return textBlock{"text", "[" + p.Type + "]"}
	}
	return textBlock{"text", ""}
}

// resultContent returns a string if a result has only text, as scripts expect.
func resultContent(parts []transcript.Part) any {
	for _, p := range parts {
		if _, text := p.(transcript.Text); !text {
			return blocks(parts)
		}
	}
	return transcript.ToolResult{Content: parts}.Text()
}

func sourceOf(mime string, data []byte, uri string) source {
	if uri != "" {
		return source{Type: "url", URL: uri}
	}
	return source{Type: "base64", Media: mime, Data: base64.StdEncoding.EncodeToString(data)}
}
