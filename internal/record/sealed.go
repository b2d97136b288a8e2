package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// The prefixes of payloads that a store writes in place of the original ones. No original payload
// begins with one of them.
const (
	sealedPrefix = `{"sealed":"`
	maskedPrefix = `{"masked":`
)

// IsSealed reports whether a payload replaces the original one: a [Sealed], or a result of
// [MaskedPayload].
func IsSealed(payload json.RawMessage) bool {
	return bytes.HasPrefix(payload, []byte(sealedPrefix)) || bytes.HasPrefix(payload, []byte(maskedPrefix))
}

// Sealed is a payload that is encrypted in the store (package encrypted). The record of the payload
// keeps the digests of the plain record.
type Sealed struct {
	Ciphertext []byte          `json:"-"`                 // the encrypted payload
	Key        string          `json:"key"`               // id of the key
	Wrapped    []byte          `json:"wrapped,omitempty"` // the key, encrypted for its recipients; in the first record of a log
	Mark       []byte          `json:"mark,omitempty"`    // the mark by which the store recognizes its own writes
	Seqs       []int64         `json:"seqs,omitempty"`    // for a redacted record: the seqs of the erased records
	Delta      json.RawMessage `json:"delta"`             // the session.Delta of the record, with encrypted texts
}

// Payload returns the JSON of s on one line.
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

// ReadSealed reads the result of [Sealed.Payload]. It returns an error if the payload is damaged.
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

// ReadSealedHead is [ReadSealed] without the Ciphertext.
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

// MaskedPayload returns the stored form of a payload with masked secrets (package redacting).
func MaskedPayload(masked json.RawMessage) json.RawMessage {
	b := make([]byte, 0, len(maskedPrefix)+len(masked)+1)
	b = append(b, maskedPrefix...)
	b = append(b, masked...)
	return append(b, '}')
}

// ReadMasked returns the payload that was given to [MaskedPayload]. ok is false if payload is not a
// result of MaskedPayload.
func ReadMasked(payload json.RawMessage) (masked json.RawMessage, ok bool) {
	masked, ok = bytes.CutPrefix(payload, []byte(maskedPrefix))
	if !ok || len(masked) < 1 || IsSealed(masked) {
		return nil, false
	}
	return masked[: len(masked)-1 : len(masked)-1], true
}
