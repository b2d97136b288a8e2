package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// A record is one element of a list:
//
//	0    1       2          4            5    13    21    53    85      117
//	│ 1 │ erased │ bytes of │ bytes of   │seq │time │prev │body │digest │ id, kind, payload
//	│   │ 0 or 1 │ the id   │ the kind   │    │ ms  │     │     │       │
//
// Numbers are big-endian. The scripts use the positions of erased and digest.
const (
	recordVersion = 1
	recordFront   = 117
)

// maxPayload leaves space in the 512 MiB that Redis accepts as one value.
const maxPayload = 256 << 20

// maxSeq is the greatest integer that a script can represent.
const maxSeq = 1<<53 - 1

func packRecord(r *session.Record) ([]byte, error) {
	switch {
	case len(r.ID) > math.MaxUint16:
		return nil, fmt.Errorf("its id has %d bytes; the maximum is %d", len(r.ID), math.MaxUint16)
	case len(r.Kind) > math.MaxUint8:
		return nil, fmt.Errorf("its kind has %d bytes; the maximum is %d", len(r.Kind), math.MaxUint8)
	case len(r.Payload) > maxPayload:
		return nil, fmt.Errorf("its payload has %d bytes; the maximum is %d", len(r.Payload), maxPayload)
	}
	b := make([]byte, 0, recordFront+len(r.ID)+len(r.Kind)+len(r.Payload))
	erased := byte(0)
	if r.Payload == nil {
		erased = 1
	}
	b = append(b, recordVersion, erased)
	b = binary.BigEndian.AppendUint16(b, uint16(len(r.ID)))
	b = append(b, byte(len(r.Kind)))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixMilli()))
	b = append(b, r.Prev[:]...)
	b = append(b, r.Body[:]...)
	b = append(b, r.Digest[:]...)
	b = append(b, r.ID...)
	b = append(b, r.Kind...)
	return append(b, r.Payload...), nil
}

// unpackRecord decodes an element. The payload is a copy.
func unpackRecord(s string) (r session.Record, err error) {
	if len(s) < recordFront {
		return r, fmt.Errorf("it is too short: %d bytes", len(s))
	}
	b := []byte(s)
	if b[0] != recordVersion || b[1] > 1 {
		return r, fmt.Errorf("it starts with %#x, which is not a record", b[:2])
	}
	id := recordFront + int(binary.BigEndian.Uint16(b[2:]))
	kind := id + int(b[4])
	if kind > len(b) {
		return r, errors.New("it ends within its kind")
	}
	r.Seq = int64(binary.BigEndian.Uint64(b[5:]))
	r.Time = time.UnixMilli(int64(binary.BigEndian.Uint64(b[13:]))).UTC()
	copy(r.Prev[:], b[21:])
	copy(r.Body[:], b[53:])
	copy(r.Digest[:], b[85:])
	r.ID, r.Kind = s[recordFront:id], session.Kind(s[id:kind])
	switch {
	case b[1] == 0:
		r.Payload = b[kind:len(b):len(b)]
	case kind != len(b):
		return session.Record{}, errors.New("it is marked as erased but has a payload")
	}
	return r, nil
}
