package otelwire

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
)

// message is a protobuf message being written. Its methods omit empty and zero values, as proto3
// does, unless their comments say otherwise.
type message struct{ b []byte }

// The wire types of fields.
const (
	asVarint = iota
	asFixed64
	asBytes
	_
	_
	asFixed32
)

// tagOf returns the tag of a field: its number and its wire type.
func tagOf(field, kind int) uint64 { return uint64(field)<<3 | uint64(kind) } //nolint:gosec // they are not negative

func (m *message) tag(field, kind int) { m.b = binary.AppendUvarint(m.b, tagOf(field, kind)) }

func (m *message) varint(field int, v uint64) {
	if v != 0 {
		m.tag(field, asVarint)
		m.b = binary.AppendUvarint(m.b, v)
	}
}

// zigzag writes a signed number as protobuf's sint32.
func (m *message) zigzag(field int, v int32) {
	m.varint(field, uint64(uint32(v<<1)^uint32(v>>31))) //nolint:gosec // the conversion keeps the bits
}

func (m *message) boolField(field int, v bool) {
	if v {
		m.optionalInt(field, 1)
	}
}

// optionalInt writes zero, too, as the present… methods do: for these fields, zero and absence mean
// different things.
func (m *message) optionalInt(field int, v int64) {
	m.tag(field, asVarint)
	m.b = binary.AppendUvarint(m.b, uint64(v)) //nolint:gosec // the conversion keeps the bits
}

func (m *message) presentBool(field int, v bool) {
	if v {
		m.optionalInt(field, 1)
		return
	}
	m.optionalInt(field, 0)
}

func (m *message) fixed32(field int, v uint32) {
	if v != 0 {
		m.tag(field, asFixed32)
		m.b = binary.LittleEndian.AppendUint32(m.b, v)
	}
}

func (m *message) fixed64(field int, v uint64) {
	if v != 0 {
		m.present64(field, v)
	}
}

func (m *message) present64(field int, v uint64) {
	m.tag(field, asFixed64)
	m.b = binary.LittleEndian.AppendUint64(m.b, v)
}

func (m *message) double(field int, v float64) { m.fixed64(field, math.Float64bits(v)) }

func (m *message) presentDouble(field int, v float64) { m.present64(field, math.Float64bits(v)) }

func (m *message) bytes(field int, v []byte) {
	if len(v) > 0 {
		m.nested(field, func() { m.b = append(m.b, v...) })
	}
}

// text writes a string. It replaces invalid UTF-8, because a collector would reject the whole
// request.
func (m *message) text(field int, v string) {
	if v != "" {
		m.presentText(field, v)
	}
}

func (m *message) presentText(field int, v string) {
	m.nested(field, func() { m.b = append(m.b, strings.ToValidUTF8(v, "\uFFFD")...) })
}

// nested writes a field with the content that a function writes. The field is written even if the
// content is empty.
func (m *message) nested(field int, write func()) {
	m.tag(field, asBytes)
	start := len(m.b)
	write()
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(m.b)-start)) //nolint:gosec // the length has only grown
	m.b = slices.Insert(m.b, start, size[:n]...)
}

// packed writes a list of numbers; it calls add to write each of them.
func packed[N uint64 | float64](m *message, field int, list []N, add func([]byte, N) []byte) {
	if len(list) == 0 {
		return
	}
	m.nested(field, func() {
		for _, v := range list {
			m.b = add(m.b, v)
		}
	})
}

var errNotProtobuf = errors.New("this is not protobuf")

// fields calls visit for each field of a message. The value of a number is passed as v; the value
// of a field with a length is passed as raw.
func fields(b []byte, visit func(tag, v uint64, raw []byte)) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 {
			return errNotProtobuf
		}
		b = b[n:]
		v, raw, size := value(b, tag&7)
		if size < 0 {
			return errNotProtobuf
		}
		visit(tag, v, raw)
		b = b[size:]
	}
	return nil
}

// value reads the value that follows a tag of this wire type. If the value cannot be read, size is
// -1.
func value(b []byte, kind uint64) (v uint64, raw []byte, size int) {
	switch kind {
	case asVarint:
		if v, n := binary.Uvarint(b); n > 0 {
			return v, nil, n
		}
	case asFixed64:
		if len(b) >= 8 {
			return binary.LittleEndian.Uint64(b), nil, 8
		}
	case asFixed32:
		if len(b) >= 4 {
			return uint64(binary.LittleEndian.Uint32(b)), nil, 4
		}
	case asBytes:
		if length, n := binary.Uvarint(b); n > 0 && length <= uint64(len(b)-n) { //nolint:gosec // n is within b
			end := n + int(length) //nolint:gosec // it is within b
			return 0, b[n:end], end
		}
	}
	return 0, nil, -1
}
