package cli

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/hook"
)

// parseHookInput reads what hooks are told.
func parseHookInput(event hook.Event, raw []byte) (hook.Input, error) {
	in := hook.Input{Event: event}
	var w struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		Use   string          `json:"tool_use_id"`
		Text  string          `json:"prompt"`
	}
	err := json.Unmarshal(raw, &w)
	in.Tool, in.ToolInput, in.ToolUseID, in.Prompt = w.Tool, w.Input, w.Use, w.Text
	return in, err
}
