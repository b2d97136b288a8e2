package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// formatVersion is the version of all formats of this package.
const formatVersion = 1

// state is the state of a session after a slot of its log.
type state struct {
	Slot  int64          `json:"slot"`
	Meta  *session.Meta  `json:"meta,omitempty"`  // nil if there is only a lease
	Epoch int64          `json:"epoch,omitempty"` // epoch of the last lease
	Lease *session.Lease `json:"lease,omitempty"` // nil if there is no holder
	// Parent is the log of the session's parent.
	Parent string `json:"parent,omitempty"`
}

func (s *state) deleted() bool { return s.Meta != nil && s.Meta.Deleted }

// The kinds of a log entry.
const (
	entryAppend  = "append"
	entryLease   = "lease" // a lease was acquired, renewed or released
	entryMeta    = "meta"
	entryErase   = "erase"
	entryDeleted = "deleted"
	entryFolded  = "folded" // the content is in a segment, which the root names
)

// header is the first line of the object of a slot.
type header struct {
	Format int    `json:"format"`
	Entry  string `json:"entry"`
	First  int64  `json:"first,omitempty"` // the seqs of its records
	Last   int64  `json:"last,omitempty"`
	State  *state `json:"state,omitempty"`
}

var foldedEntry = []byte(`{"format":1,"entry":"` + entryFolded + `"}` + "\n")

// root is the content of a session up to some slot of its log.
type root struct {
	Format   int        `json:"format"`
	ID       string     `json:"id,omitempty"`
	Log      string     `json:"log"`              // the name of the log; a new name each time the id is used
	Op       string     `json:"op"`               // operation id of the root's writer
	Vacant   bool       `json:"vacant,omitempty"` // the session is deleted and its id can be used again
	Gen      int64      `json:"gen"`              // incremented by each write
	State    state      `json:"state"`            // the state after slot State.Slot; later slots are not included
	Segments []segment  `json:"segments,omitempty"`
	Covered  []coverage `json:"covered,omitempty"` // oldest first
}

// segment is an object with the records of many slots.
type segment struct {
	Key   string `json:"key"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	Bytes int64  `json:"bytes"`
}

// coverage is a slot, and the time by the server's clock since which roots have included all slots
// up to this one.
type coverage struct {
	Slot  int64     `json:"slot"`
	Since time.Time `json:"since"`
}

var errDamaged = errors.New("damaged")

// unmarshal decodes one of the JSON forms above. It returns ErrNewer if a newer version wrote it.
func unmarshal(b []byte, to any) error {
	var v struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &v); err != nil || v.Format < 1 {
		return errDamaged
	}
	if v.Format > formatVersion {
		return session.ErrNewer
	}
	if err := json.Unmarshal(b, to); err != nil {
		return errDamaged
	}
	return nil
}

// encodeEntry encodes the object of a slot.
func encodeEntry(h header, records []session.Record) ([]byte, error) {
	h.Format = formatVersion
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	size := len(line) + 1
	for i := range records {
		size += len(records[i].Payload) + 512
	}
	b := append(append(make([]byte, 0, size), line...), '\n')
	return appendRecords(b, records), nil
}

// decodeEntry decodes the object of a slot. The result lines has the encoded records.
func decodeEntry(b []byte) (h header, lines []byte, err error) {
	line, lines, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return h, nil, errDamaged
	}
	if err = unmarshal(line, &h); err != nil {
		return h, lines, err
	}
	if h.Entry != entryFolded && h.State == nil {
		return h, lines, errDamaged
	}
	return h, lines, nil
}

// recordHead is a record without its payload.
type recordHead struct {
	Seq    int64          `json:"seq"`
	ID     string         `json:"id"`
	MS     int64          `json:"ms"`
	Kind   session.Kind   `json:"kind"`
	Prev   session.Digest `json:"prev"`
	Body   session.Digest `json:"body"`
	Digest session.Digest `json:"digest"`
}

// payloadMark is the text before a payload. It cannot occur in the JSON before it, because quotes
// in strings have a backslash there.
const payloadMark = `,"payload":`

// appendRecords adds one line for each record: a JSON object with the record's fields, whose last
// member is the unchanged bytes of the payload.
func appendRecords(b []byte, records []session.Record) []byte {
	for i := range records {
		r := &records[i]
		head, _ := json.Marshal(recordHead{r.Seq, r.ID, r.Time.UnixMilli(), r.Kind, r.Prev, r.Body, r.Digest}) // cannot fail
		b = append(append(b, head[:len(head)-1]...), payloadMark...)
		if r.Payload == nil {
			b = append(b, "null"...)
		} else {
			b = append(b, r.Payload...)
		}
		b = append(b, "}\n"...)
	}
	return b
}

// parseRecord reads a line without its newline. The payload is a copy.
func parseRecord(line []byte) (session.Record, bool) {
	at := bytes.Index(line, []byte(payloadMark))
	if at < 0 || line[len(line)-1] != '}' {
		return session.Record{}, false
	}
	var h recordHead
	if json.Unmarshal(append(slices.Clone(line[:at]), '}'), &h) != nil || h.Seq <= 0 {
		return session.Record{}, false
	}
	payload := line[at+len(payloadMark) : len(line)-1]
	r := session.Record{
		Seq: h.Seq, ID: h.ID, Time: time.UnixMilli(h.MS).UTC(), Kind: h.Kind,
		Prev: h.Prev, Body: h.Body, Digest: h.Digest,
	}
	if string(payload) != "null" {
		if len(payload) == 0 || payload[0] != '{' {
			return session.Record{}, false
		}
		r.Payload = bytes.Clone(payload)
	}
	return r, true
}

// parseRecords decodes lines and leaves out damaged ones.
func parseRecords(lines []byte) []session.Record {
	records := make([]session.Record, 0, bytes.Count(lines, []byte("\n")))
	for line := range bytes.Lines(lines) {
		if r, ok := parseRecord(bytes.TrimSuffix(line, []byte("\n"))); ok {
			records = append(records, r)
		}
	}
	return records
}
