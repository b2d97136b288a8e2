package otelwire

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// EncodeSpans encodes the spans as an ExportTraceServiceRequest, ordered by resource and scope. It
// returns nil if there are no spans.
func EncodeSpans(spans []sdktrace.ReadOnlySpan) []byte {
	type origin struct {
		resource attribute.Distinct
		scope    instrumentation.Scope
	}
	var resources []attribute.Distinct
	scopes := map[attribute.Distinct][]origin{}
	groups := map[origin][]sdktrace.ReadOnlySpan{}
	for _, s := range spans {
		if s == nil {
			continue
		}
		o := origin{s.Resource().Equivalent(), s.InstrumentationScope()}
		if scopes[o.resource] == nil {
			resources = append(resources, o.resource)
		}
		if groups[o] == nil {
			scopes[o.resource] = append(scopes[o.resource], o)
		}
		groups[o] = append(groups[o], s)
	}
	var m message
	for _, r := range resources {
		m.nested(1, func() {
			shared := groups[scopes[r][0]][0].Resource()
			m.resource(shared)
			for _, o := range scopes[r] {
				m.nested(2, func() { m.scopeSpans(o.scope, groups[o]) })
			}
			m.text(3, shared.SchemaURL())
		})
	}
	return m.b
}

func (m *message) scopeSpans(s instrumentation.Scope, spans []sdktrace.ReadOnlySpan) {
	if s != (instrumentation.Scope{}) {
		m.scope(s)
	}
	for _, span := range spans {
		m.nested(2, func() { m.span(span) })
	}
	m.text(3, s.SchemaURL)
}

func (m *message) span(s sdktrace.ReadOnlySpan) {
	c, parent := s.SpanContext(), s.Parent()
	tid, sid, parentID := c.TraceID(), c.SpanID(), parent.SpanID()
	m.bytes(1, tid[:])
	m.bytes(2, sid[:])
	m.text(3, c.TraceState().String())
	if parentID.IsValid() {
		m.bytes(4, parentID[:])
	}
	m.text(5, s.Name())
	m.varint(6, kindOf(s.SpanKind()))
	m.fixed64(7, nanos(s.StartTime()))
	m.fixed64(8, nanos(s.EndTime()))
	m.attributes(9, s.Attributes())
	m.varint(10, dropped(s.DroppedAttributes()))
	for _, e := range s.Events() {
		m.nested(11, func() { m.event(e) })
	}
	m.varint(12, dropped(s.DroppedEvents()))
	for _, l := range s.Links() {
		m.nested(13, func() { m.link(l) })
	}
	m.varint(14, dropped(s.DroppedLinks()))
	m.nested(15, func() { m.status(s.Status()) })
	m.fixed32(16, flags(c.TraceFlags(), parent))
}

func (m *message) event(e sdktrace.Event) {
	m.fixed64(1, nanos(e.Time))
	m.text(2, e.Name)
	m.attributes(3, e.Attributes)
	m.varint(4, dropped(e.DroppedAttributeCount))
}

func (m *message) link(l sdktrace.Link) {
	tid, sid := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	m.bytes(1, tid[:])
	m.bytes(2, sid[:])
	m.attributes(4, l.Attributes)
	m.varint(5, dropped(l.DroppedAttributeCount))
	m.fixed32(6, flags(l.SpanContext.TraceFlags(), l.SpanContext))
}

func (m *message) status(s sdktrace.Status) {
	m.text(2, s.Description)
	switch s.Code {
	case codes.Ok:
		m.varint(3, 1)
	case codes.Error:
		m.varint(3, 2)
	}
}

// kindOf returns the number of the kind in OTLP, which equals that of the API.
func kindOf(k trace.SpanKind) uint64 {
	if k < trace.SpanKindInternal || k > trace.SpanKindConsumer {
		return 0
	}
	return uint64(k)
}

// flags returns the W3C flags, and whether the other span is from another process.
func flags(f trace.TraceFlags, other trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	if other.IsRemote() {
		return uint32(f) | known | remote
	}
	return uint32(f) | known
}
