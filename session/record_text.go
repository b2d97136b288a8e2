package session

import (
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// kindText says what the records of a kind hold of a session's text, and what erasing
// does with them.
type kindText struct {
	Holds string   // the fields that hold text, "" when none does
	Needs []string // the fields that stay as they are, since the session goes on by them
	// NotWholeReason is why a record of this kind is not erased whole when somebody names it, and
	// Stays is why a mask does not change it either; "" when it can be erased.
	NotWholeReason, KeptReason string
}

const (
	whyOpened    = "the first record says what the session is"
	whyStructure = "it says how far the work had come, and has none of its content"
	whyPolicy    = "what may happen follows from it"
	whyAccess    = "it says who was let in, and is in no session"
	whyElsewhere = "what runs elsewhere is found by it"
)

// kindTexts is the register of the records that hold text of a session: erasing a kind
// that is not in it is refused, and a test fails when one of [record.Kinds] is missing.
// docs/erasure.md lists it for people.
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
		record.KindRunEvent:         {Holds: "input, text, message, strategy", Needs: runNeeds()},
		record.KindAccess:           {Holds: "names of people and tokens, addresses", NotWholeReason: whyAccess, KeptReason: whyAccess},
	}
}

// notErasableReason says why records of a kind may not be erased whole, or "".
func notErasableReason(k Kind) string {
	t, ok := kindTexts()[k]
	if !ok {
		return "nothing says what a record of this kind holds"
	}
	return t.NotWholeReason
}

// keptReason says why a mask leaves records of a kind as they are, or "".
func keptReason(k Kind) string {
	t, ok := kindTexts()[k]
	if !ok {
		return "nothing says what a record of this kind holds"
	}
	return t.KeptReason
}

// emptyTask is a task.changed record without the words of its task.
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

// notText are the fields of a payload whose strings are ids and words of the format.
var notText = []string{"id", "use_id", "type", "role", "name", "kind", "event", "status", "digest", "model", "time", "at", "finish", "api", "signature"}

// textsIn lists the strings of a payload that may say something.
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

// itemTexts lists what an item says: its texts, and those of the inputs and results of
// tools.
func itemTexts(e transcript.Encoded) []string {
	var v struct{ Parts json.RawMessage }
	if json.Unmarshal(e.JSON, &v) != nil {
		return nil
	}
	return textsIn(v.Parts)
}
