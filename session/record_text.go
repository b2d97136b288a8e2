package session

import (
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// kindText describes which text of a session the records of a kind contain, and how it is erased.
type kindText struct {
	Holds string   // the fields that contain text, or "" if there are none
	Needs []string // the fields that are kept because a resume needs them
	// NotWholeReason is why a record of this kind cannot be erased whole by its seq, and
	// KeptReason is why a mask does not change it either. Both are "" if the record can be erased.
	NotWholeReason, KeptReason string
}

const (
	whyOpened    = "the first record describes the session"
	whyStructure = "it records the progress of the work, not its content"
	whyPolicy    = "permissions depend on it"
	whyAccess    = "it is an access record and belongs to no session"
	whyElsewhere = "it is needed to find work in other sessions"
)

// kindTexts lists the record kinds that contain text of a session. Kinds that are not in it cannot
// be erased, and a test fails if one of [record.Kinds] is missing. docs/erasure.md has the same
// list for users.
func kindTexts() map[Kind]kindText {
	return map[Kind]kindText{
		record.KindOpened:           {Holds: "folders, branch, model; title, summary, tag and first prompt in logs of older versions", NotWholeReason: whyOpened, KeptReason: whyOpened},
		KindItem:                    {Holds: "all of it"},
		record.KindTurnOpened:       {Holds: "cwd", Needs: []string{"turn", "budget"}, NotWholeReason: whyStructure},
		record.KindTurnClosed:       {Holds: "error", Needs: []string{"turn", "reason", "cost_usd"}, NotWholeReason: whyStructure},
		record.KindToolStarted:      {Holds: "tool", Needs: []string{"use_id"}, NotWholeReason: whyStructure},
		record.KindToolFinished:     {Holds: "paths, notes", Needs: []string{"use_id", "is_error", "ms", "exit_code", "outcome"}, NotWholeReason: whyStructure},
		record.KindApprovalAsked:    {Holds: "requests, why", Needs: []string{"id", "use_id", "asker"}},
		record.KindApprovalResolved: {Holds: "message, input", Needs: []string{"id", "decision", "asker"}},
		record.KindDecision:         {Holds: "requests, input", Needs: []string{"use_id"}},
		record.KindPolicyChanged:    {Holds: "rules and patterns", NotWholeReason: whyPolicy, KeptReason: whyPolicy},
		record.KindHookRan:          {Holds: "reason, message, context", Needs: []string{"use_id"}},
		record.KindRewrite:          {Holds: "items, notes", Needs: []string{"cut", "messages"}},
		record.KindMetaChanged:      {Holds: "title, summary, tag, first prompt, folders"},
		record.KindVendorMapped:     {Holds: "reason, file", Needs: []string{"vendor", "session", "generation", "workspace", "workspace_id", "format"}, NotWholeReason: whyElsewhere},
		record.KindWorkspaceEvent:   {Holds: "reason, stderr", Needs: []string{"event", "workspace", "workspace_id", "vendor", "session", "oom"}, NotWholeReason: whyElsewhere},
		record.KindTaskChanged:      {Holds: "subject, description, active_form", Needs: []string{"by"}},
		record.KindFileSaved:        {Holds: "data, path"},
		record.KindModelCalled:      {Holds: "model", Needs: []string{"usage", "cost_usd", "for", "session", "estimated"}, NotWholeReason: whyStructure},
		record.KindRedacted:         {Holds: "instead, listed, reason"},
		record.KindRunEvent:         {Holds: "input, text, images, message, strategy", Needs: runNeeds()},
		record.KindAccess:           {Holds: "names of people and tokens, addresses", NotWholeReason: whyAccess, KeptReason: whyAccess},
	}
}

// notErasableReason returns why records of a kind cannot be erased whole, or "".
func notErasableReason(k Kind) string {
	t, ok := kindTexts()[k]
	if !ok {
		return "the content of this kind of record is unknown"
	}
	return t.NotWholeReason
}

// keptReason returns why a mask does not change records of a kind, or "".
func keptReason(k Kind) string {
	t, ok := kindTexts()[k]
	if !ok {
		return "the content of this kind of record is unknown"
	}
	return t.KeptReason
}

// emptyTask returns a task.changed payload without the texts of its task.
func emptyTask(payload json.RawMessage) json.RawMessage {
	var c struct {
		Task map[string]json.RawMessage `json:"task"`
		By   string                     `json:"by,omitempty"`
	}
	if json.Unmarshal(payload, &c) != nil || c.Task == nil {
		return nil
	}
	delete(c.Task, "description")
	delete(c.Task, "active_form")
	c.Task["subject"], _ = json.Marshal(record.Erased)
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	return b
}

// notText lists payload fields whose strings are ids or constants of the format.
var notText = []string{"id", "use_id", "type", "role", "name", "kind", "event", "status", "digest", "model", "time", "at", "finish", "api", "signature"}

// textsIn lists the strings of a payload that may be text.
func textsIn(payload json.RawMessage) []string {
	var v any
	if json.Unmarshal(payload, &v) != nil {
		return nil
	}
	return leaves(v, nil)
}

func leaves(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		return append(list, v)
	case []any:
		for _, e := range v {
			list = leaves(e, list)
		}
	case map[string]any:
		for name, e := range v {
			if _, text := e.(string); !text || !slices.Contains(notText, name) {
				list = leaves(e, list)
			}
		}
	}
	return list
}

// itemTexts lists the texts of an item, including those of tool inputs and results.
func itemTexts(e transcript.Encoded) []string {
	var v struct{ Parts json.RawMessage }
	if json.Unmarshal(e.JSON, &v) != nil {
		return nil
	}
	return textsIn(v.Parts)
}
