package session

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// saved notes which file.saved record has a content.
func (f *replayer) saved(r *Record) {
	if jsonscan.Object(r.Payload).Field("data") == nil {
		return
	}
	if f.s.Saved == nil {
		f.s.Saved = map[string]int64{}
	}
	f.s.Saved[payloadText(r.Payload, "digest")] = r.Seq
}

// matchesMask reports whether the mask matches a payload.
func (r *Record) matchesMask(mask func(json.RawMessage) json.RawMessage) bool {
	if r.Kind == record.KindFileSaved {
		return !bytes.Equal(maskSaved(r.Payload, mask), r.Payload)
	}
	return !bytes.Equal(mask(r.Payload), r.Payload)
}

// withoutContent returns a file.saved payload whose content is removed.
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

// maskSaved masks a file.saved payload. It removes the whole content if that contains a secret,
// which the mask cannot see in the compressed form.
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
		// The file of the content is no longer known.
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

// maskFinds reports whether mask, which works on payloads, matches a file's content.
func maskFinds(content []byte, mask func(json.RawMessage) json.RawMessage) bool {
	raw, err := json.Marshal(map[string]string{"text": string(content)})
	return err != nil || !bytes.Equal(mask(raw), raw)
}
