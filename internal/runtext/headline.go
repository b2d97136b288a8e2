package runtext

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/forms"
)

// Headline returns the field of a tool's input that best describes a call.
func Headline(name string, input json.RawMessage, cwd string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return string(input)
	}
	for _, key := range headlineFieldsOf(name) {
		var s string
		if raw, ok := in[key]; ok && json.Unmarshal(raw, &s) == nil {
			if key == "command" {
				return s
			}
			return strings.TrimPrefix(s, cwd+"/")
		}
	}
	if len(in) == 0 {
		return ""
	}
	if name == forms.AskTool {
		return headers(input)
	}
	return string(input)
}

// headers returns the headers of the questions that the model asks.
func headers(input json.RawMessage) string {
	var in struct {
		Questions []forms.Choice `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	var list []string
	for _, c := range in.Questions {
		list = append(list, c.Header)
	}
	return strings.Join(list, ", ")
}

// headlineFieldsOf returns the names of the fields that describe the calls of a tool.
func headlineFieldsOf(name string) []string {
	switch name {
	case "EnterWorktree":
		return []string{"name", "path"}
	case "ExitWorktree":
		return []string{"action"}
	case "ExitPlanMode":
		return []string{"mode", "plan"}
	}
	return headlineFields
}

// headlineFields lists fields that may describe a call. The first of them that the input has is used.
var headlineFields = []string{
	"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "skill", "taskId", "task_id", "subject", "to", "description",
}
