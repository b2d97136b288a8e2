// Package override lets a tool call request one exception from a denial.
package override

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// overrideField is the input field with which a call asks for an exception.
const overrideField = "override"

const overrideDescription = "Only if the user has denied this for the session: ask for one exception that the task needs"

// AllowOverride adds a field "override" to a tool. A call that sets the field requests one
// exception from a denial that applies to the session (agentkit's policy-deny-override). The tool
// itself does not see the field.
func AllowOverride(t tool.Tool) (tool.Tool, error) {
	o := &overridableTool{Tool: t, spec: t.Spec()}
	var schema, properties map[string]json.RawMessage
	if err := json.Unmarshal(o.spec.Input, &schema); err != nil {
		return nil, fmt.Errorf("tool %s: input schema: %w", o.spec.Name, err)
	}
	if err := json.Unmarshal(schema["properties"], &properties); err != nil {
		return nil, fmt.Errorf("tool %s: input schema: %w", o.spec.Name, err)
	}
	if _, taken := properties[overrideField]; taken {
		return nil, fmt.Errorf("tool %s already has a field %q", o.spec.Name, overrideField)
	}
	var err error
	if properties[overrideField], err = json.Marshal(map[string]string{"type": "boolean", "description": overrideDescription}); err != nil {
		return nil, err
	}
	if schema["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	o.spec.Input, err = json.Marshal(schema)
	return o, err
}

type overridableTool struct {
	tool.Tool
	spec tool.Spec
}

// Spec returns the tool's description with the field.
func (o *overridableTool) Spec() tool.Spec { return o.spec }

// Requests returns the requests of the tool, which include the exception if the call requests it.
func (o *overridableTool) Requests(call *tool.Call) ([]policy.Request, error) {
	inner, override, err := o.split(call)
	if err != nil {
		return nil, err
	}
	list, err := o.Tool.Requests(inner)
	for i := range list {
		list[i].Input, list[i].Override = call.Input, override
	}
	return list, err
}

// Run runs the call without the field.
func (o *overridableTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	inner, _, err := o.split(call)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	return o.Tool.Run(ctx, inner)
}

// split removes the field from a call's input. The tool itself rejects an input that is not an
// object or that contains a field twice.
func (o *overridableTool) split(call *tool.Call) (inner *tool.Call, override bool, err error) {
	var fields map[string]json.RawMessage
	_, wrong := jsontree.Parse(call.Input)
	if wrong == nil {
		wrong = json.Unmarshal(call.Input, &fields)
	}
	if wrong != nil {
		return call, false, nil // the tool reports the error
	}
	value, ok := fields[overrideField]
	if !ok {
		return call, false, nil
	}
	if err := json.Unmarshal(value, &override); err != nil {
		return nil, false, call.InvalidInput(fmt.Errorf("%s: want true or false", overrideField))
	}
	delete(fields, overrideField)
	as := *call
	as.Input, err = json.Marshal(fields)
	return &as, override, err
}
