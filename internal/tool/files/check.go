package files

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// Check implements [toolext.Checker]: if the model has not read the file or the edit cannot be
// applied, the call fails without an approval request.
func (t recallingTool) Check(call *tool.Call) error {
	var in struct {
		writeInput
		Edits []edit `json:"edits"`
	}
	var one edit
	var cell notebookInput
	for _, into := range []any{&in, &one, &cell} {
		if err := json.Unmarshal(call.Input, into); err != nil {
			return err
		}
	}
	path := in.Path
	if t.Spec().Name == "NotebookEdit" {
		path = cell.Path
	}
	p, err := t.f.find(policy.OpWrite, path)
	if err != nil {
		return err
	}
	switch t.Spec().Name {
	case "Write":
		_, err = t.f.replaceable(p)
	case "Edit":
		_, _, err = t.f.edited(p, []edit{one})
	case "MultiEdit":
		_, _, err = t.f.edited(p, in.Edits)
	case "NotebookEdit":
		_, _, _, err = t.f.editedNotebook(p, cell.edit(call))
	}
	return err
}
