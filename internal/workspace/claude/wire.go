package claude

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// askHook is the id of the hook that makes Claude Code request permission for every tool use.
const askHook = "ask"

func initialize() any {
	return map[string]any{
		"type": "control_request", "request_id": "init",
		"request": map[string]any{"subtype": "initialize", "hooks": map[string]any{
			"PreToolUse": []any{map[string]any{"matcher": nil, "hookCallbackIds": []string{askHook}}},
		}},
	}
}

func userMessage(parts []transcript.Part) any {
	return map[string]any{
		"type": "user", "parent_tool_use_id": nil, "session_id": "",
		"message": map[string]any{"role": "user", "content": content(parts)},
	}
}

func response(id string, what any) any {
	return map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": id, "response": what,
	}}
}

func refusal(id, why string) any {
	return map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": id, "error": why,
	}}
}

// event is a line of the protocol, with only the fields that are used here.
type event struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	Session   string          `json:"session_id"`
	Parent    string          `json:"parent_tool_use_id"`
	Message   *message        `json:"message"`
	Event     *streamed       `json:"event"`
	RequestID string          `json:"request_id"`
	Request   *request        `json:"request"`
	Response  *reply          `json:"response"`
	Error     json.RawMessage `json:"error"`

	IsError bool     `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Usage   *usage   `json:"usage"`
	Cost    float64  `json:"total_cost_usd"`
	Turns   int      `json:"num_turns"`

	Info json.RawMessage `json:"rate_limit_info"`
}

// message is an API message or a part of one.
type message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   *usage          `json:"usage"`
}

// streamed is an event of the API's stream.
type streamed struct {
	Type    string   `json:"type"`
	Message *message `json:"message"`
	Delta   struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (u *usage) tokens() transcript.Usage {
	if u == nil {
		return transcript.Usage{}
	}
	return transcript.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// request is a control_request that the program sends.
type request struct {
	Subtype  string          `json:"subtype"`
	Tool     string          `json:"tool_name"`
	Use      string          `json:"tool_use_id"`
	Input    json.RawMessage `json:"input"`
	Reason   string          `json:"decision_reason"`
	Blocked  string          `json:"blocked_path"`
	Callback string          `json:"callback_id"`
}

// reply is a control_response that the program sends.
type reply struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}
