package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// How the payloads begin that a store keeps in the place of a record's own. No payload
// of a kind begins so.
const (
	sealedPrefix = `{"sealed":"`
	maskedPrefix = `{"masked":`
)

// IsSealed reports whether a payload is one that stands for the record's own: a
// [Sealed], or one that [MaskedPayload] made.
func IsSealed(payload json.RawMessage) bool {
	return bytes.HasPrefix(payload, []byte(sealedPrefix)) || bytes.HasPrefix(payload, []byte(maskedPrefix))
}

// Sealed is what a store keeps of a payload that only a key opens (package encrypted).
// The record around it keeps its digests, which are those of the plain record.
type Sealed struct {
	Box     []byte          `json:"-"`                 // the encrypted payload
	Key     string          `json:"key"`               // which key it is sealed with
	Wrapped []byte          `json:"wrapped,omitempty"` // that key, for who may open it; in the first record of a log
	Mark    []byte          `json:"mark,omitempty"`    // beside it: by this its maker knows it again
	Seqs    []int64         `json:"seqs,omitempty"`    // of a redacted record: those that are erased
	Delta   json.RawMessage `json:"delta"`             // a [Delta], its texts encrypted: what [Fold] takes from the record
}

// Payload is the JSON of s on one line.
func (s *Sealed) Payload() (json.RawMessage, error) {
	tail, err := json.Marshal(s)
	if err != nil {
		return nil, &Error{Op: "seal", Err: ErrInvalid, Detail: err.Error()}
	}
	b := make([]byte, 0, len(sealedPrefix)+base64.StdEncoding.EncodedLen(len(s.Box))+1+len(tail))
	b = append(b, sealedPrefix...)
	b = base64.StdEncoding.AppendEncode(b, s.Box)
	b = append(b, '"', ',')
	return append(b, tail[1:]...), nil
}

// ReadSealed reads what [Sealed.Payload] has made. ErrCorrupt when it is damaged.
func ReadSealed(payload json.RawMessage) (*Sealed, error) {
	s, box, err := cutSealed(payload)
	if err == nil {
		s.Box, err = base64.StdEncoding.AppendDecode(nil, box)
	}
	if err != nil {
		return nil, &Error{Op: "read sealed payload", Err: ErrCorrupt, Detail: err.Error()}
	}
	return s, nil
}

// cutSealed is ReadSealed without decoding the box.
func cutSealed(payload json.RawMessage) (s *Sealed, box []byte, err error) {
	rest, ok := bytes.CutPrefix(payload, []byte(sealedPrefix))
	box, tail, found := bytes.Cut(rest, []byte(`",`))
	if !ok || !found {
		return nil, nil, errors.New("it is no sealed payload")
	}
	s = &Sealed{}
	return s, box, json.Unmarshal(append([]byte("{"), tail...), s)
}

// MaskedPayload is what a store keeps of a payload of which secrets are left out
// (package redacting): what is read instead.
func MaskedPayload(instead json.RawMessage) json.RawMessage {
	b := make([]byte, 0, len(maskedPrefix)+len(instead)+1)
	b = append(b, maskedPrefix...)
	b = append(b, instead...)
	return append(b, '}')
}

// ReadMasked returns what [MaskedPayload] was given; ok is false when the payload is none
// of those.
func ReadMasked(payload json.RawMessage) (instead json.RawMessage, ok bool) {
	instead, ok = bytes.CutPrefix(payload, []byte(maskedPrefix))
	if !ok || len(instead) < 1 || IsSealed(instead) {
		return nil, false
	}
	return instead[: len(instead)-1 : len(instead)-1], true
}

// Mask returns the payload that is read instead of the record's when mask takes
// something out of it, and whether it did: an item keeps its id, its role and its tool
// uses, and what a session goes on by stays. mask returns the same bytes when it finds
// nothing; package audit/secret has one.
func (r *Record) Mask(mask func(json.RawMessage) json.RawMessage) (json.RawMessage, bool) {
	if r.Payload == nil || !r.shows(mask) {
		return r.Payload, false
	}
	if r.Kind == KindOpened {
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
	d, err := NewDraft(KindOpened, o)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return d.Payload
}

// maskedText masks a text as if it were a payload.
func maskedText(text string, mask func(json.RawMessage) json.RawMessage) string {
	raw, _ := json.Marshal(map[string]string{"text": text})
	var out struct{ Text string }
	if json.Unmarshal(mask(raw), &out) != nil {
		return Erased
	}
	return out.Text
}

// MaskTexts masks the texts of m that lists show.
func (m *Meta) MaskTexts(mask func(json.RawMessage) json.RawMessage) {
	for _, f := range m.Texts() {
		*f = maskedText(*f, mask)
	}
}

// Texts are the texts of m that say something of what the session is about, always in
// the same order.
func (m *Meta) Texts() []*string {
	return []*string{&m.Title, &m.Summary, &m.FirstPrompt, &m.Tag, &m.CWD, &m.Project, &m.Model, &m.GitBranch}
}

// sealedError is the error for a record that cannot be read as it is.
func (r *Record) sealedError() error {
	e := &Error{
		Op: "check record", Seq: r.Seq, Err: ErrSealed, Detail: "it is encrypted",
		Hint: "open the store with its key, as encrypted+URL",
	}
	if bytes.HasPrefix(r.Payload, []byte(maskedPrefix)) {
		e.Detail, e.Hint = "it is a copy without its secrets", "open the store with package session/redacting"
	}
	return e
}

// Masker is a store that keeps records without their secrets, and those that came to it
// so: [Record.Masked] ones (package redacting).
type Masker interface{ Masks() bool }
