package strategy

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// source returns the strategy as canonical JSON: the keys are in a fixed order, the agents in the
// order of the file, and the defaults are filled in.
func (s *Strategy) source() json.RawMessage {
	b := []byte(`{"name":`)
	b = jsonscan.AppendString(b, s.Name)
	b = jsonscan.AppendString(append(b, `,"version":`...), s.Version)
	if s.Description != "" {
		b = jsonscan.AppendString(append(b, `,"description":`...), s.Description)
	}
	b = append(b, `,"agents":{`...)
	for i, a := range s.Agents {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, a.Name), ':')
		b = append(b, compact(a.written())...)
	}
	b = append(b, `},"flow":`...)
	b = append(b, s.Flow.Tree()...)
	return append(b, '}')
}

type writtenAgent struct {
	Type         Type      `json:"type"`
	Description  string    `json:"description,omitempty"`
	Model        string    `json:"model,omitempty"`
	SystemPrompt string    `json:"systemPrompt,omitempty"`
	Tools        *[]string `json:"tools,omitempty"`
	MaxSteps     int       `json:"maxSteps,omitempty"`
	Command      string    `json:"command,omitempty"`
	Stdin        bool      `json:"stdin,omitempty"`
	Prompt       string    `json:"prompt,omitempty"`
}

func (a Agent) written() writtenAgent {
	w := writtenAgent{
		Type: a.Type, Description: a.Description,
		Model: a.Model, SystemPrompt: a.SystemPrompt, MaxSteps: a.MaxSteps,
		Command: a.Command, Stdin: a.Stdin, Prompt: a.Prompt,
	}
	if a.Tools != nil {
		w.Tools = &a.Tools
	}
	return w
}

// compact encodes a value as JSON, in which < and & are not escaped.
func compact(v any) json.RawMessage {
	b, err := jsonscan.Marshal(v)
	if err != nil {
		panic(err) // only texts and numbers
	}
	return b
}
