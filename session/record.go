package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Digest is a SHA-256 sum. Its text form is 64 hexadecimal digits.
type Digest [sha256.Size]byte

// IsZero reports whether d is all zeros, as the Prev of a first record is.
func (d Digest) IsZero() bool { return d == Digest{} }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the hexadecimal form.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads the hexadecimal form.
func (d *Digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return fmt.Errorf("session: digest has %d characters, want %d", len(b), 2*len(d))
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// Record is one entry of a session's log. Records are numbered from 1 without gaps; a fork's
// records continue from the number it was forked at.
//
// Digest covers (Prev, Seq, ID, Time, Kind, Body), where Body is the digest of Payload. A payload
// can therefore be erased (Payload nil, Body kept) while the chain still verifies.
type Record struct {
	Seq     int64
	ID      string    // unique; identifies a retried append
	Time    time.Time // UTC, whole milliseconds
	Kind    Kind
	Payload json.RawMessage // one JSON object on one line; nil when erased
	Prev    Digest
	Body    Digest
	Digest  Digest

	// Masked is set by a store that masks content before it stores a record (package redacting).
	// Payload is then the replacement, and Body is the digest of the original.
	Masked bool
}

// Seal sets Body and Digest from the other fields and prev. It truncates Time to whole
// milliseconds UTC, so that every store can keep it exactly.
func (r *Record) Seal(prev Digest) {
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	r.Prev = prev
	r.Body = sha256.Sum256(r.Payload)
	r.Digest = r.chain()
}

// Check returns an error that wraps [ErrCorrupt] if the record's digests do not match its content.
// An erased or masked payload is not an error. If the payload is encrypted and everything else
// matches, the error wraps [ErrSealed].
func (r *Record) Check() error {
	fits := r.Payload == nil || r.Masked || sha256.Sum256(r.Payload) == r.Body
	sealed := !fits && record.IsSealed(r.Payload)
	if !fits && !sealed {
		return &Error{Op: "check record", Seq: r.Seq, Err: ErrCorrupt, Detail: "the payload does not match its digest"}
	}
	if r.chain() != r.Digest {
		return &Error{Op: "check record", Seq: r.Seq, Err: ErrCorrupt, Detail: "the record does not match its digest"}
	}
	if sealed {
		return r.sealedError()
	}
	return nil
}

// CheckAfter is [Record.Check] and also checks that r follows prev.
func (r *Record) CheckAfter(prev *Record) error {
	if r.Seq != prev.Seq+1 || r.Prev != prev.Digest {
		return &Error{Op: "check record", Seq: r.Seq, Err: ErrCorrupt, Detail: "the record does not follow the one before it"}
	}
	return r.Check()
}

// chain computes the record's digest: SHA-256 over a version line and the fixed fields, each on
// its own line, so that different records never have the same preimage.
func (r *Record) chain() Digest {
	b := make([]byte, 0, 320)
	b = append(b, "holdfast record 1\n"...)
	b = hex.AppendEncode(b, r.Prev[:])
	b = append(b, '\n')
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, '\n')
	b = strconv.AppendQuote(b, r.ID)
	b = append(b, '\n')
	b = strconv.AppendInt(b, r.Time.UnixMilli(), 10)
	b = append(b, '\n')
	b = append(b, r.Kind...)
	b = append(b, '\n')
	b = hex.AppendEncode(b, r.Body[:])
	b = append(b, '\n')
	return sha256.Sum256(b)
}
