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

// Record is one entry of a session's log. Records are numbered from 1 without
// gaps; a fork's own records go on from the number it was forked at.
//
// Digest covers (Prev, Seq, ID, Time, Kind, Body) where Body is the digest of
// Payload. So a payload can be erased (Payload nil, Body kept) and the chain
// still verifies.
type Record struct {
	Seq     int64
	ID      string    // unique; a retried append with the same id is recognised
	Time    time.Time // UTC, whole milliseconds
	Kind    Kind
	Payload json.RawMessage // one JSON object on one line; nil when erased
	Prev    Digest
	Body    Digest
	Digest  Digest

	// Masked is set by a store that keeps less than it was given (package redacting):
	// Payload is what is read instead, and Body that of what was there.
	Masked bool
}

// Seal fills in Body and Digest from the other fields and prev. Time is cut to
// whole milliseconds UTC, so that every store can keep it exactly.
func (r *Record) Seal(prev Digest) {
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	r.Prev = prev
	r.Body = sha256.Sum256(r.Payload)
	r.Digest = r.chain()
}

// Check reports, as an error that wraps [ErrCorrupt], whether the record's
// digests fit its content. An erased payload is no fault, nor is a masked one. When
// the payload is sealed and all else fits, the error wraps [ErrSealed].
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

// CheckAfter does what [Record.Check] does and also checks that r follows prev.
func (r *Record) CheckAfter(prev *Record) error {
	if r.Seq != prev.Seq+1 || r.Prev != prev.Digest {
		return &Error{Op: "check record", Seq: r.Seq, Err: ErrCorrupt, Detail: "the record does not follow the one before it"}
	}
	return r.Check()
}

// chain computes the record's digest: SHA-256 over a version line and the fixed
// fields, each on its own line, so that no two records share a preimage.
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
