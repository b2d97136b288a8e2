package session

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Mask applies mask to the record and returns the replacement of its payload, and whether anything
// changed. An item keeps its id, role and tool uses, and fields that resuming needs stay. The
// function mask returns the same bytes if it matches nothing; package audit/secret has such a
// function.
func (r *Record) Mask(mask func(json.RawMessage) json.RawMessage) (json.RawMessage, bool) {
	if r.Payload == nil || !r.matchesMask(mask) {
		return r.Payload, false
	}
	if r.Kind == record.KindOpened {
		return maskedOpened(r.Payload, mask), true
	}
	instead := maskedPayload(r, mask)
	if instead == nil {
		instead = json.RawMessage(`{}`)
	}
	return instead, true
}

// maskedOpened masks the texts of a first record.
func maskedOpened(payload json.RawMessage, mask func(json.RawMessage) json.RawMessage) json.RawMessage {
	var o Opened
	if json.Unmarshal(payload, &o) != nil {
		return json.RawMessage(`{}`)
	}
	for _, f := range []*string{&o.Project, &o.CWD, &o.Model, &o.GitBranch, &o.Title, &o.Summary, &o.Tag, &o.Prompt, &o.User} {
		*f = maskedText(*f, mask)
	}
	d, err := NewDraft(record.KindOpened, o)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return d.Payload
}

// maskedText masks a single text.
func maskedText(text string, mask func(json.RawMessage) json.RawMessage) string {
	raw, _ := json.Marshal(map[string]string{"text": text})
	var out struct{ Text string }
	if json.Unmarshal(mask(raw), &out) != nil {
		return record.Erased
	}
	return out.Text
}

// MaskTexts masks the texts of m that lists show.
func (m *Meta) MaskTexts(mask func(json.RawMessage) json.RawMessage) {
	for _, f := range m.Texts() {
		*f = maskedText(*f, mask)
	}
}

// Texts returns the texts of m that may contain session content, always in the same order.
func (m *Meta) Texts() []*string {
	return []*string{&m.Title, &m.Summary, &m.FirstPrompt, &m.Tag, &m.CWD, &m.Project, &m.Model, &m.GitBranch}
}

// sealedError is the error for a record that cannot be read as it is stored.
func (r *Record) sealedError() error {
	e := &Error{
		Op: "check record", Seq: r.Seq, Err: ErrSealed, Detail: "it is encrypted",
		Hint: "open the store with its key, as encrypted+URL",
	}
	if _, masked := record.ReadMasked(r.Payload); masked {
		e.Detail, e.Hint = "the record is masked", "open the store with package session/redacting"
	}
	return e
}
