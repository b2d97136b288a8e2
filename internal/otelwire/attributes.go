package otelwire

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// This file encodes the parts of OTLP that spans and metrics share: opentelemetry-proto 1,
// common.proto and resource.proto. Field numbers are those of the .proto files.

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) } //nolint:gosec // it is not negative

// dropped converts a count to 32 bits, the size that OTLP has for it.
func dropped(n int) uint64 { return uint64(min(max(0, n), math.MaxUint32)) } //nolint:gosec // it is not negative

func (m *message) resource(r *resource.Resource) {
	if r != nil {
		m.nested(1, func() { m.iterated(1, r.Iter()) })
	}
}

func (m *message) scope(s instrumentation.Scope) {
	m.nested(1, func() {
		m.text(1, s.Name)
		m.text(2, s.Version)
		m.iterated(3, s.Attributes.Iter())
	})
}

func (m *message) iterated(field int, list attribute.Iterator) {
	for list.Next() {
		m.attribute(field, list.Attribute())
	}
}

func (m *message) attributes(field int, list []attribute.KeyValue) {
	for _, a := range list {
		m.attribute(field, a)
	}
}

func (m *message) attribute(field int, a attribute.KeyValue) {
	m.nested(field, func() {
		m.text(1, string(a.Key))
		m.any(2, a.Value)
	})
}

// any writes an AnyValue, even if the value is empty.
func (m *message) any(field int, v attribute.Value) {
	m.nested(field, func() {
		switch v.Type() {
		case attribute.EMPTY:
		case attribute.STRING:
			m.presentText(1, v.AsString())
		case attribute.BOOL:
			m.presentBool(2, v.AsBool())
		case attribute.INT64:
			m.optionalInt(3, v.AsInt64())
		case attribute.FLOAT64:
			m.presentDouble(4, v.AsFloat64())
		case attribute.BYTESLICE:
			m.nested(7, func() { m.b = append(m.b, v.AsByteSlice()...) })
		case attribute.MAP:
			m.nested(6, func() { m.attributes(1, v.AsMap()) })
		case attribute.SLICE:
			m.nested(5, func() { each(v.AsSlice(), func(v attribute.Value) { m.any(1, v) }) })
		case attribute.STRINGSLICE:
			array(m, v.AsStringSlice(), attribute.StringValue)
		case attribute.BOOLSLICE:
			array(m, v.AsBoolSlice(), attribute.BoolValue)
		case attribute.INT64SLICE:
			array(m, v.AsInt64Slice(), attribute.Int64Value)
		case attribute.FLOAT64SLICE:
			array(m, v.AsFloat64Slice(), attribute.Float64Value)
		default:
			m.presentText(1, "INVALID")
		}
	})
}

// array writes an ArrayValue.
func array[V any](m *message, values []V, of func(V) attribute.Value) {
	m.nested(5, func() { each(values, func(v V) { m.any(1, of(v)) }) })
}

func each[V any](values []V, do func(V)) {
	for _, v := range values {
		do(v)
	}
}
