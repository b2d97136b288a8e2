package session

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// heldItems lists the transcript items in a record.
func heldItems(r *Record) ([]transcript.Encoded, error) {
	switch r.Kind {
	case KindItem:
		it, err := record.ReadItem(r.Payload)
		return []transcript.Encoded{it.Item}, err
	case record.KindRewrite:
		items, _, err := readRewrite(r.Payload)
		return items, err
	}
	return nil, nil
}

// mentions reports whether one of a payload's strings is the id of a tool use.
func mentions(payload json.RawMessage, use string) bool {
	quoted, _ := json.Marshal(use)
	return bytes.Contains(payload, quoted)
}

// emptied returns the replacement of an erased payload: the parts that resuming needs. In a
// rewrite, the items with these ids are emptied; nil means all.
func emptied(r *Record, ids map[string]bool) json.RawMessage {
	switch r.Kind {
	case KindItem:
		return withItem(r.Payload, emptyItem)
	case record.KindRewrite:
		return withItems(r.Payload, func(e transcript.Encoded) transcript.Encoded {
			if ids != nil && !ids[e.ID()] {
				return e
			}
			return emptyItem(e)
		})
	case record.KindApprovalAsked:
		return fieldsOf(r.Payload, "id", "use_id", "asker")
	case record.KindApprovalResolved:
		return fieldsOf(r.Payload, "id", "decision", "by", "at", "asker")
	case record.KindRunEvent:
		return fieldsOf(r.Payload, append(runNeeds(), "strategy")...)
	case record.KindFileSaved:
		return withoutContent(r.Payload, record.OmittedErased)
	case record.KindTaskChanged:
		return emptyTask(r.Payload)
	case record.KindTurnOpened, record.KindTurnClosed, record.KindToolStarted, record.KindToolFinished, record.KindVendorMapped, record.KindWorkspaceEvent:
		return fieldsOf(r.Payload, kindTexts()[r.Kind].Needs...)
	}
	return nil
}

// runNeeds lists the fields of a run.event that resuming a run needs, or that show who did what.
// They contain no input and no text.
func runNeeds() []string {
	return []string{
		"event", "status", "segment", "by", "via", "request_id", "resumed", "started_at", "step", "step_name", "agent",
		"session", "from", "to", "input_id", "usage", "cost_usd", "finish", "code",
	}
}

// withItem returns the payload of an item record with a changed item. It drops the request mark,
// because the model was sent the old item.
func withItem(payload json.RawMessage, change func(transcript.Encoded) transcript.Encoded) json.RawMessage {
	it, err := record.ReadItem(payload)
	if err != nil {
		return nil
	}
	return ItemDraft(change(it.Item), it.Queued, nil).Costing(it.Cost()).Payload
}

// withItems is withItem for the items of a rewrite.
func withItems(payload json.RawMessage, change func(transcript.Encoded) transcript.Encoded) json.RawMessage {
	var w Rewrite
	items, _, err := readRewrite(payload)
	if err != nil || json.Unmarshal(payload, &w) != nil {
		return nil
	}
	for i, e := range items {
		w.Items[i] = change(e).JSON
	}
	d, err := NewDraft(record.KindRewrite, Rewrite{Reason: w.Reason, By: w.By, Items: w.Items, Messages: w.Messages})
	if err != nil {
		return nil
	}
	return d.Payload
}

// fieldsOf returns an object with only some fields.
func fieldsOf(payload json.RawMessage, fields ...string) json.RawMessage {
	kept := map[string]json.RawMessage{}
	for _, f := range fields {
		if v := jsonscan.Object(payload).Field(f); v != nil {
			kept[f] = v
		}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return b
}

// emptyItem returns an item with the same id, role, time and tool uses, without its content.
func emptyItem(e transcript.Encoded) transcript.Encoded {
	it, err := e.Decode()
	if err != nil {
		it = transcript.Item{ID: e.ID(), Role: e.Role(), Model: e.Model(), Finish: e.Finish()}
	}
	was := it.Parts
	it.Parts, it.Native, it.Metadata, it.Extra = nil, nil, nil, nil
	for _, part := range was {
		switch part := part.(type) {
		case transcript.ToolUse:
			it.Parts = append(it.Parts, transcript.ToolUse{ID: part.ID, Name: part.Name, Input: json.RawMessage(`{}`)})
		case transcript.ToolResult:
			it.Parts = append(it.Parts, transcript.ToolResult{
				UseID: part.UseID, IsError: part.IsError, Content: []transcript.Part{transcript.Text{Text: record.Erased}},
			})
		}
	}
	if len(it.Parts) == 0 {
		it.Parts = []transcript.Part{transcript.Text{Text: record.Erased}}
	}
	empty, err := it.Encode()
	if err != nil {
		return transcript.Item{ID: e.ID(), Role: e.Role(), Parts: []transcript.Part{transcript.Text{Text: record.Erased}}}.MustEncode()
	}
	return empty
}

// maskedPayload returns the replacement of a payload of which parts are erased.
func maskedPayload(r *Record, mask func(json.RawMessage) json.RawMessage) json.RawMessage {
	item := func(e transcript.Encoded) transcript.Encoded { return maskItem(e, mask) }
	switch r.Kind {
	case KindItem:
		return withItem(r.Payload, item)
	case record.KindFileSaved:
		return maskSaved(r.Payload, mask)
	case record.KindRewrite:
		if items, _, err := readRewrite(r.Payload); err == nil && len(items) > 0 {
			return withItems(r.Payload, item)
		}
	}
	out := mask(r.Payload)
	needs := kindTexts()[r.Kind].Needs
	for _, f := range needs { // resuming needs them
		was := jsonscan.Object(r.Payload).Field(f)
		if !json.Valid(out) || !bytes.Equal(was, jsonscan.Object(out).Field(f)) {
			switch r.Kind {
			case record.KindRewrite:
				return fieldsOf(r.Payload, "reason", "cut", "messages")
			case record.KindRunEvent: // its strategy may contain the text
				return fieldsOf(r.Payload, needs...)
			}
			return emptied(r, nil)
		}
	}
	return out
}

// maskItem masks an item. It empties an item whose structure the mask would change. It drops the
// provider's form of the item and changed thinking, because a provider would reject them.
func maskItem(e transcript.Encoded, mask func(json.RawMessage) json.RawMessage) transcript.Encoded {
	out := mask(json.RawMessage(e.JSON))
	if bytes.Equal(out, e.JSON) {
		return e
	}
	var m transcript.Encoded
	if m.Parse(out) != nil || m.ID() != e.ID() || m.Role() != e.Role() || m.Finish() != e.Finish() ||
		!slices.Equal(m.UseIDs(), e.UseIDs()) || !slices.Equal(m.ResultIDs(), e.ResultIDs()) {
		return emptyItem(e)
	}
	it, err := m.Decode()
	if err != nil {
		return emptyItem(e)
	}
	was, err := e.Decode()
	if err != nil {
		return emptyItem(e)
	}
	it.Native = nil
	if !slices.Equal(thoughts(it), thoughts(was)) {
		it.Parts = slices.DeleteFunc(it.Parts, func(p transcript.Part) bool { _, ok := p.(transcript.Thinking); return ok })
	}
	if len(it.Parts) == 0 {
		it.Parts = []transcript.Part{transcript.Text{Text: record.Erased}}
	}
	if m, err = it.Encode(); err != nil {
		return emptyItem(e)
	}
	return m
}

// thoughts lists the thinking texts of an item.
func thoughts(it transcript.Item) []string {
	var list []string
	for _, p := range it.Parts {
		if t, ok := p.(transcript.Thinking); ok {
			list = append(list, t.Text, t.Data, t.Signature)
		}
	}
	return list
}
