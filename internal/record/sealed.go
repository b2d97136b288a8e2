package record

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
	Ciphertext []byte          `json:"-"`                 // the encrypted payload
	Key        string          `json:"key"`               // which key it is sealed with
	Wrapped    []byte          `json:"wrapped,omitempty"` // that key, for who may open it; in the first record of a log
	Mark       []byte          `json:"mark,omitempty"`    // beside it: by this its maker knows it again
	Seqs       []int64         `json:"seqs,omitempty"`    // of a redacted record: those that are erased
	Delta      json.RawMessage `json:"delta"`             // a session.Delta, its texts encrypted: what session.Fold takes from the record
}

// Payload is the JSON of s on one line.
func (s *Sealed) Payload() (json.RawMessage, error) {
	tail, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(sealedPrefix)+base64.StdEncoding.EncodedLen(len(s.Ciphertext))+1+len(tail))
	b = append(b, sealedPrefix...)
	b = base64.StdEncoding.AppendEncode(b, s.Ciphertext)
	b = append(b, '"', ',')
	return append(b, tail[1:]...), nil
}

// ReadSealed reads what [Sealed.Payload] has made. It fails when that is damaged.
func ReadSealed(payload json.RawMessage) (*Sealed, error) {
	s, box, err := cutSealed(payload)
	if err == nil {
		s.Ciphertext, err = base64.StdEncoding.AppendDecode(nil, box)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ReadSealedHead is [ReadSealed] without the Box.
func ReadSealedHead(payload json.RawMessage) (*Sealed, error) {
	s, _, err := cutSealed(payload)
	return s, err
}

func cutSealed(payload json.RawMessage) (s *Sealed, box []byte, err error) {
	rest, ok := bytes.CutPrefix(payload, []byte(sealedPrefix))
	box, tail, found := bytes.Cut(rest, []byte(`",`))
	if !ok || !found {
		return nil, nil, errors.New("not a sealed payload")
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
