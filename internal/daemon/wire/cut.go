package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// MaxText is the maximum size of one text in a message, in bytes. The record has the complete text:
// GET /v1/sessions/{id}/events.
const MaxText = 1 << 20

// MaxDetails is the maximum size of each part of the details in a request_permission, in bytes.
const MaxDetails = 64 << 10

// Truncation describes a text that was cut.
type Truncation struct {
	Bytes  int    `json:"bytes" jsonschema:"size of the complete text"`
	SHA256 string `json:"sha256" jsonschema:"of the complete text, in hexadecimal"`
}

// cut returns the beginning of s: only whole characters, and at most limit bytes. It also returns a
// description of the cut, or nil if s is short enough.
func cut(s string, limit int) (string, *Truncation) {
	if len(s) <= limit {
		return s, nil
	}
	sum := sha256.Sum256([]byte(s))
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], &Truncation{Bytes: len(s), SHA256: hex.EncodeToString(sum[:])}
}
