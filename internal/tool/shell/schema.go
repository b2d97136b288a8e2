package shell

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/tool"
)

// trimmedTool is a tool that hides some of its fields from the model. If a model sets such a field anyway,
// the tool handles it.
type trimmedTool struct {
	tool.Tool
	spec tool.Spec
}

func (t *trimmedTool) Spec() tool.Spec { return t.spec }

func withoutFields(t tool.Tool, fields ...string) (tool.Tool, error) {
	n := &trimmedTool{Tool: t, spec: t.Spec()}
	var schema, properties map[string]json.RawMessage
	if err := json.Unmarshal(n.spec.Input, &schema); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(schema["properties"], &properties); err != nil {
		return nil, err
	}
	for _, f := range fields {
		delete(properties, f)
	}
	var err error
	if schema["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	n.spec.Input, err = json.Marshal(schema)
	return n, err
}
