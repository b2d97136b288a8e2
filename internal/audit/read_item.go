package audit

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// requestedCall is a call as the model requested it.
type requestedCall struct {
	input json.RawMessage
}

// item stores the calls of an assistant item, because decisions of older logs do not contain
// their subject. If a call has a result but has not ended, it continues in the background.
func (r *reader) item(payload json.RawMessage) error {
	if payload == nil {
		return nil
	}
	it, err := record.ReadItem(payload)
	if err != nil || it.Queued {
		return err
	}
	for _, use := range it.Item.ResultIDs() {
		r.reportStart(use)
	}
	if it.Item.Role() != transcript.RoleAssistant {
		return nil
	}
	uses := it.Item.Uses()
	if len(uses) == 0 {
		return nil
	}
	clear(r.calls)
	for _, u := range uses {
		r.calls[u.ID] = requestedCall{u.Input}
	}
	return nil
}

// reportStart makes a separate entry for the start of a call.
func (r *reader) reportStart(use string) {
	if start := r.running[use]; start != nil {
		delete(r.running, use)
		r.background[use] = *start
		start.Outcome = outcomeBackground
	}
}

// subject is the field of a tool's input that contains its main resource.
type subject struct {
	operation policy.Operation
	field     string
}

var subjects = map[string]subject{
	"Bash": {policy.OpCommand, "command"}, "Read": {policy.OpRead, "file_path"}, "Write": {policy.OpWrite, "file_path"},
	"Edit": {policy.OpWrite, "file_path"}, "MultiEdit": {policy.OpWrite, "file_path"}, "NotebookEdit": {policy.OpWrite, "notebook_path"},
	"Glob": {policy.OpRead, "path"}, "Grep": {policy.OpRead, "path"}, "WebFetch": {policy.OpConnect, "url"},
}

// resourcesOf determines from the input of a call which resources the call accesses.
func (r *reader) resourcesOf(d *policy.Decision) []Resource {
	input := d.Input
	if input == nil {
		input = r.calls[d.Use].input
	}
	s, ok := subjects[d.Tool]
	if ok {
		var fields map[string]json.RawMessage
		var name string
		if json.Unmarshal(input, &fields) == nil && json.Unmarshal(fields[s.field], &name) == nil && name != "" {
			return []Resource{{string(s.operation), name}}
		}
	}
	return []Resource{{Name: d.Tool}}
}
