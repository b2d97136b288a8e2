package session

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// saved notes where a content is kept.
func (f *replayer) saved(r *Record) {
	if jsonscan.Object(r.Payload).Field("data") == nil {
		return
	}
	if f.s.Saved == nil {
		f.s.Saved = map[string]int64{}
	}
	f.s.Saved[payloadText(r.Payload, "digest")] = r.Seq
}

// shows reports whether mask finds something in a payload.
func (r *Record) shows(mask func(json.RawMessage) json.RawMessage) bool {
	if r.Kind == record.KindFileSaved {
		return !bytes.Equal(maskSaved(r.Payload, mask), r.Payload)
	}
	return !bytes.Equal(mask(r.Payload), r.Payload)
}

// withoutContent is a file.saved that has lost its content.
func withoutContent(payload json.RawMessage, why string) json.RawMessage {
	var f record.FileSaved
	if json.Unmarshal(payload, &f) != nil {
		return nil
	}
	if f.Data != "" {
		f.Data, f.Omitted = "", why
	}
	return savedPayload(&f)
}

func savedPayload(f *record.FileSaved) json.RawMessage {
	p, err := f.Payload()
	if err != nil {
		return nil
	}
	return p
}

// maskSaved masks a file.saved: the content as a whole when there is a secret in it, of
// which its compressed form says nothing.
func maskSaved(payload json.RawMessage, mask func(json.RawMessage) json.RawMessage) json.RawMessage {
	var f record.FileSaved
	if json.Unmarshal(payload, &f) != nil {
		return mask(payload)
	}
	changed := false
	if f.Data != "" {
		content, err := f.Data.Content(f.Digest)
		if err != nil || maskFinds(content, mask) {
			f.Data, f.Omitted, changed = "", record.OmittedMasked, true
		}
	}
	head := f
	head.Data = ""
	was := savedPayload(&head)
	if masked := mask(was); !bytes.Equal(masked, was) {
		// Whose content it is cannot be told any more.
		if f = (record.FileSaved{}); json.Unmarshal(masked, &f) != nil {
			return masked
		}
		f.Omitted, changed = record.OmittedMasked, true
	}
	if !changed {
		return payload
	}
	return savedPayload(&f)
}

// maskFinds reports whether mask, which takes payloads, finds something in the content
// of a file.
func maskFinds(content []byte, mask func(json.RawMessage) json.RawMessage) bool {
	raw, err := json.Marshal(map[string]string{"text": string(content)})
	return err != nil || !bytes.Equal(mask(raw), raw)
}
