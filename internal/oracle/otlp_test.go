package oracle

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	colltraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// official contains OpenTelemetry's own exporters, and what they sent last.
type official struct {
	spans   sdktrace.SpanExporter
	metrics *otlpmetrichttp.Exporter
	body    []byte
}

func newOfficial(t testing.TB) *official {
	t.Helper()
	x := &official{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { x.body, _ = io.ReadAll(r.Body) }))
	t.Cleanup(s.Close)
	var err error
	if x.spans, err = otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.URL)); err != nil {
		t.Fatal(err)
	}
	if x.metrics, err = otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(s.URL)); err != nil {
		t.Fatal(err)
	}
	return x
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func same(t failer, got, want []byte, a, b proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(got, a); err != nil {
		t.Fatalf("holdfast cannot be read: %v", err)
	}
	if err := proto.Unmarshal(want, b); err != nil {
		t.Fatalf("official cannot be read: %v", err)
	}
	for _, m := range []proto.Message{a, b} { // the official ones are unordered
		if r, ok := m.(*colltraces.ExportTraceServiceRequest); ok {
			slices.SortFunc(r.GetResourceSpans(), func(a, b *tracepb.ResourceSpans) int {
				return strings.Compare(prototext.Format(a), prototext.Format(b))
			})
		}
	}
	if !proto.Equal(a, b) {
		t.Fatalf("holdfast:\n%s\ntheirs:\n%s", prototext.Format(a), prototext.Format(b))
	}
	if len(got) != len(want) {
		t.Fatalf("holdfast has %d bytes, official %d", len(got), len(want))
	}
}

func (x *official) compareSpans(t failer, stubs tracetest.SpanStubs) {
	t.Helper()
	if err := x.spans.ExportSpans(context.Background(), stubs.Snapshots()); err != nil {
		t.Fatalf("%v", err)
	}
	same(t, otelwire.EncodeSpans(stubs.Snapshots()), x.body, &colltraces.ExportTraceServiceRequest{}, &colltraces.ExportTraceServiceRequest{})
}

func (x *official) compareMetrics(t failer, all *metricdata.ResourceMetrics) {
	t.Helper()
	if err := x.metrics.Export(context.Background(), all); err != nil {
		t.Fatalf("%v", err)
	}
	got, err := otelwire.EncodeMetrics(all)
	if err != nil {
		t.Fatalf("%v", err)
	}
	same(t, got, x.body, &collmetrics.ExportMetricsServiceRequest{}, &collmetrics.ExportMetricsServiceRequest{})
}

var (
	when  = time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)
	every = []attribute.KeyValue{
		attribute.String("s", "ä\x00"), attribute.String("", ""), attribute.Bool("t", true), attribute.Bool("f", false),
		attribute.Int64("i", math.MinInt64), attribute.Int64("0", 0), attribute.Float64("d", -0.5), attribute.Float64("z", 0),
		attribute.StringSlice("ss", []string{"", "x"}), attribute.BoolSlice("bs", []bool{false, true}), attribute.Int64Slice("is", []int64{-1, 0, 1}),
		attribute.Float64Slice("ds", []float64{math.Inf(1), 0}), attribute.StringSlice("none", nil),
		{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
		{Key: "no bytes", Value: attribute.ByteSliceValue(nil)},
		{Key: "empty"},
		{Key: "list", Value: attribute.SliceValue(attribute.StringValue("a"), attribute.SliceValue(attribute.IntValue(1)), attribute.Value{})},
		{Key: "map", Value: attribute.MapValue(attribute.String("k", strings.Repeat("long", 100)), attribute.Bool("b", false))},
	}
)

func TestSpansMatchSDK(t *testing.T) {
	x := newOfficial(t)
	state, err := trace.ParseTraceState("a=1,b=2")
	if err != nil {
		t.Fatal(err)
	}
	spanContext := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled, TraceState: state})
	far := spanContext.WithSpanID(trace.SpanID{4}).WithRemote(true)
	res := func(name string) *resource.Resource {
		return resource.NewWithAttributes("https://example.org/"+name, attribute.String("service.name", name))
	}
	scope := instrumentation.Scope{Name: "n", Version: "1", SchemaURL: "https://example.org/s", Attributes: attribute.NewSet(attribute.Int("a", 1))}
	full := tracetest.SpanStub{
		Name: "full", SpanContext: spanContext, Parent: far, StartTime: when, EndTime: when.Add(time.Hour), Attributes: every,
		Events: []sdktrace.Event{{Name: "e", Time: when, Attributes: every, DroppedAttributeCount: 3}, {}},
		Links:  []sdktrace.Link{{SpanContext: far, Attributes: every, DroppedAttributeCount: 4}, {SpanContext: spanContext}},
		Status: sdktrace.Status{Code: codes.Error, Description: "broke"}, DroppedAttributes: 5, DroppedEvents: 6, DroppedLinks: -7,
		Resource: res("a"), InstrumentationScope: scope,
	}
	for name, stubs := range map[string]tracetest.SpanStubs{
		"full":        {full},
		"empty":       {{}},
		"before 1970": {{Name: "old", StartTime: time.Unix(-1, 0), EndTime: when, Resource: resource.Empty()}},
		"huge count":  {{DroppedAttributes: math.MaxInt, DroppedEvents: math.MaxUint32, DroppedLinks: math.MaxUint32 + 1}},
		"groups": {
			full,
			{Name: "b", Resource: res("b")},
			{Name: "a", Resource: res("a"), InstrumentationScope: instrumentation.Scope{Name: "m"}},
			{Name: "again", Resource: res("a"), InstrumentationScope: scope},
			{Name: "b2", Resource: res("b")},
		},
	} {
		t.Run(name, func(t *testing.T) { x.compareSpans(t, stubs) })
	}
	for kind := trace.SpanKind(-1); kind < 8; kind++ {
		for _, code := range []codes.Code{codes.Unset, codes.Ok, codes.Error, 9} {
			x.compareSpans(t, tracetest.SpanStubs{{SpanKind: kind, Status: sdktrace.Status{Code: code}, SpanContext: spanContext}})
		}
	}
	if m := otelwire.EncodeSpans(nil); m != nil {
		t.Errorf("no spans are %x", m)
	}
	if m := otelwire.EncodeSpans([]sdktrace.ReadOnlySpan{nil}); m != nil {
		t.Errorf("a span that is nil is %x", m)
	}
}

// drawValue draws an attribute's value, nested up to depth.
func drawValue(t *rapid.T, depth int) attribute.Value {
	most := 9
	if depth == 0 {
		most = 7
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return attribute.StringValue(rapid.String().Draw(t, "text"))
	case 1:
		return attribute.BoolValue(rapid.Bool().Draw(t, "bool"))
	case 2:
		return attribute.Int64Value(rapid.Int64().Draw(t, "int"))
	case 3:
		return attribute.Float64Value(rapid.Float64().Draw(t, "float"))
	case 4:
		return attribute.StringSliceValue(rapid.SliceOf(rapid.String()).Draw(t, "texts"))
	case 5:
		return attribute.Int64SliceValue(rapid.SliceOf(rapid.Int64()).Draw(t, "ints"))
	case 6:
		return attribute.ByteSliceValue(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case 7:
		return attribute.Value{}
	case 8:
		var list []attribute.Value
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			list = append(list, drawValue(t, depth-1))
		}
		return attribute.SliceValue(list...)
	default:
		return attribute.MapValue(drawAttributes(t, depth-1)...)
	}
}

func drawAttributes(t *rapid.T, depth int) []attribute.KeyValue {
	var list []attribute.KeyValue
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		list = append(list, attribute.KeyValue{Key: attribute.Key(rapid.String().Draw(t, "key")), Value: drawValue(t, depth)})
	}
	return list
}

func TestRandomDataMatchesSDK(t *testing.T) {
	x := newOfficial(t)
	rapid.Check(t, func(t *rapid.T) {
		list := drawAttributes(t, 3)
		var id trace.TraceID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		x.compareSpans(t, tracetest.SpanStubs{{
			Name: rapid.String().Draw(t, "name"), Attributes: list, DroppedLinks: rapid.Int().Draw(t, "dropped"),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID(id[:8]), TraceFlags: trace.TraceFlags(id[0])}),
			StartTime:   time.Unix(0, rapid.Int64().Draw(t, "start")), Resource: resource.NewSchemaless(list...),
		}})
		x.compareMetrics(t, drawMetrics(t, attribute.NewSet(list...)))
	})
}
