package rows

import (
	"github.com/holdfast-dev/holdfast/session"
)

// RecordColumns are the columns of a [session.Record] after the session's number, in the order of
// [Record]'s arguments.
const RecordColumns = `seq, id, time_ms, kind, chain, payload`

// Chain returns the column of the three digests: prev, body and digest.
func Chain(r *session.Record) []byte {
	chain := make([]byte, 96)
	copy(chain[:32], r.Prev[:])
	copy(chain[32:64], r.Body[:])
	copy(chain[64:], r.Digest[:])
	return chain
}

// Payload returns the payload column, NULL for an erased payload.
func Payload(r *session.Record) any {
	if r.Payload == nil {
		return nil
	}
	return []byte(r.Payload)
}

// Record makes a record from its columns. It keeps the payload without copying. It returns
// ErrCorrupt if the digests are malformed.
func Record(of string, seq int64, id string, ms int64, kind string, chain, payload []byte) (session.Record, error) {
	r := session.Record{Seq: seq, ID: id, Time: Time(ms), Kind: session.Kind(kind), Payload: payload}
	if len(chain) != 96 {
		return session.Record{Seq: seq}, Damaged(of, seq, "the digests are not 96 bytes")
	}
	copy(r.Prev[:], chain)
	copy(r.Body[:], chain[32:])
	copy(r.Digest[:], chain[64:])
	return r, nil
}

// Damaged returns the error for an unreadable record.
func Damaged(id string, seq int64, detail string) error {
	return &session.Error{
		Op: "read", Session: id, Seq: seq, Err: session.ErrCorrupt, Detail: detail,
		Hint: "run: holdfast sessions verify " + id,
	}
}
