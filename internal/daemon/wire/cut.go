package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// MaxText is how much of one text a message shows, in bytes. The whole is in the
// record: GET /v1/sessions/{id}/events.
const MaxText = 1 << 20

// MaxDetails is how much of each thing that is asked about a request_permission
// shows, in bytes.
const MaxDetails = 64 << 10

// Truncation says that a text is the beginning of a longer one.
type Truncation struct {
	Bytes  int    `json:"bytes" jsonschema:"size of the whole"`
	SHA256 string `json:"sha256" jsonschema:"of the whole, in hexadecimal"`
}

// cut is the beginning of s, at most limit bytes of whole characters, and what was
// cut; nil when nothing was.
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
