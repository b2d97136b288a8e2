package view

import (
	"encoding/base64"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// These are the types of Claude Code's stream-json format. Holdfast's additional fields come last.

type wireInit struct {
	Type           string       `json:"type"`
	Subtype        string       `json:"subtype"`
	CWD            string       `json:"cwd"`
	SessionID      string       `json:"session_id"`
	Tools          []string     `json:"tools"`
	MCPServers     []WireServer `json:"mcp_servers"`
	Model          string       `json:"model"`
	PermissionMode policy.Mode  `json:"permissionMode"`
	SlashCommands  []string     `json:"slash_commands"`
	APIKeySource   string       `json:"apiKeySource"`
	OutputStyle    string       `json:"output_style"`
	Agents         []string     `json:"agents"`
	Skills         []string     `json:"skills"`
	Plugins        []string     `json:"plugins"`
	UUID           string       `json:"uuid"`
	Version        string       `json:"holdfast_version"`
	Created        bool         `json:"created"`
	ForkedFrom     string       `json:"forked_from,omitempty"`
}

// WireServer is an MCP server and its state.
type WireServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

type wireItem struct {
	Type            string      `json:"type"`
	Message         wireMessage `json:"message"`
	ParentToolUseID *string     `json:"parent_tool_use_id"`
	SessionID       string      `json:"session_id"`
	UUID            string      `json:"uuid"`
	ItemID          string      `json:"item_id"`
	Seq             int64       `json:"seq,omitempty"`
}

type wireMessage struct {
	ID           string      `json:"id,omitempty"`
	Type         string      `json:"type,omitempty"`
	Role         string      `json:"role"`
	Model        string      `json:"model,omitempty"`
	Content      []wireBlock `json:"content"`
	StopReason   *string     `json:"stop_reason,omitempty"`
	StopSequence *string     `json:"stop_sequence,omitempty"`
	Usage        *wireUsage  `json:"usage,omitempty"`
}

// wireBlock is any content block; its type determines which fields are set.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []wireBlock     `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *wireSource     `json:"source,omitempty"`
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type wireUsage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CacheWrite   int64 `json:"cache_creation_input_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
}

type wireModelUsage struct {
	InputTokens  int64   `json:"inputTokens"`
	OutputTokens int64   `json:"outputTokens"`
	CacheRead    int64   `json:"cacheReadInputTokens"`
	CacheWrite   int64   `json:"cacheCreationInputTokens"`
	CostUSD      float64 `json:"costUSD"`
	Calls        int     `json:"calls"`
}

type wireDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// wireDeferred is a call that a hook deferred.
type wireDeferred struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type wireStreamEvent struct {
	Type            string  `json:"type"`
	Event           any     `json:"event"`
	SessionID       string  `json:"session_id"`
	ParentToolUseID *string `json:"parent_tool_use_id"`
	UUID            string  `json:"uuid"`
}

type wireResult struct {
	Type              string                    `json:"type"`
	Subtype           string                    `json:"subtype"`
	IsError           bool                      `json:"is_error"`
	DurationMS        int64                     `json:"duration_ms"`
	DurationAPIMS     int64                     `json:"duration_api_ms"`
	NumTurns          int                       `json:"num_turns"`
	Result            *string                   `json:"result,omitempty"`
	Errors            []string                  `json:"errors,omitempty"`
	StopReason        *string                   `json:"stop_reason"`
	TerminalReason    string                    `json:"terminal_reason,omitempty"`
	SessionID         string                    `json:"session_id"`
	TotalCostUSD      float64                   `json:"total_cost_usd"`
	RunCostUSD        float64                   `json:"run_cost_usd,omitempty"`
	BudgetUSD         float64                   `json:"budget_usd,omitempty"`
	Usage             wireUsage                 `json:"usage"`
	ModelUsage        map[string]wireModelUsage `json:"modelUsage"`
	PermissionDenials []wireDenial              `json:"permission_denials"`
	Deferred          *wireDeferred             `json:"deferred_tool_use,omitempty"`
	UUID              string                    `json:"uuid"`
	Code              string                    `json:"code,omitempty"`
	Hint              string                    `json:"hint,omitempty"`
}

func usageOf(u transcript.Usage) wireUsage {
	return wireUsage{InputTokens: u.Input, OutputTokens: u.Output, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead}
}

func assistantMessage(it transcript.Item) wireMessage {
	m := wireMessage{ID: "msg_" + it.ID, Type: "message", Role: "assistant", Model: it.Model, Content: wireParts(it.Parts)}
	if stop := stopReason(it.Finish); stop != "" {
		m.StopReason = &stop
	}
	if it.Usage != nil {
		u := usageOf(*it.Usage)
		m.Usage = &u
	}
	return m
}

// stopReason returns the provider's word for a finish reason.
func stopReason(f transcript.Finish) string {
	switch f {
	case transcript.FinishStop:
		return "end_turn"
	case "":
		return ""
	}
	return string(f) // tool_use, max_tokens, refusal, cancelled, error
}

func wireParts(parts []transcript.Part) []wireBlock {
	out := make([]wireBlock, 0, len(parts))
	for _, p := range parts {
		if b, ok := wirePart(p); ok {
			out = append(out, b)
		}
	}
	return out
}

func wirePart(p transcript.Part) (wireBlock, bool) {
	switch p := p.(type) {
	case transcript.Text:
		return wireBlock{Type: "text", Text: &p.Text}, true
	case transcript.Thinking:
		if p.Redacted {
			return wireBlock{Type: "redacted_thinking", Data: p.Data}, true
		}
		return wireBlock{Type: "thinking", Thinking: &p.Text, Signature: &p.Signature}, true
	case transcript.ToolUse:
		return wireBlock{Type: "tool_use", ID: p.ID, Name: p.Name, Input: p.Input}, true
	case transcript.ToolResult:
		return wireBlock{Type: "tool_result", ToolUseID: p.UseID, Content: wireParts(p.Content), IsError: p.IsError}, true
	case transcript.Media:
		return wireBlock{Type: "image", Source: sourceOf(p.MIME, p.Data, p.URI)}, true
	case transcript.File:
		return wireBlock{Type: "document", Name: p.Name, Source: sourceOf(p.MIME, p.Data, p.URI)}, true
	case transcript.Structured:
		s := string(p.Value)
		return wireBlock{Type: "text", Text: &s}, true
	}
	return wireBlock{}, false
}

func sourceOf(mime string, data []byte, uri string) *wireSource {
	if uri != "" {
		return &wireSource{Type: "url", MediaType: mime, URL: uri}
	}
	return &wireSource{Type: "base64", MediaType: mime, Data: base64.StdEncoding.EncodeToString(data)}
}

// itemUUID returns an item's id as a UUID. For a ULID the UUID has the same 16 bytes; for any other
// id it is derived from the id.
func itemUUID(id string) string {
	if u, err := ulid.ParseStrict(id); err == nil {
		return uuid.UUID(u).String()
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(id)).String()
}
