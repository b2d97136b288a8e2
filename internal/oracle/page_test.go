package oracle

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	pmodel "github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// record records metrics with every kind of instrument in use.
func record(t testing.TB, m metric.Meter) {
	t.Helper()
	counts, err := m.Int64Counter("holdfast.decisions", metric.WithUnit("{decision}"), metric.WithDescription("Decisions\nabout tool \\ calls."))
	if err != nil {
		t.Fatal(err)
	}
	cost, err := m.Float64Counter("holdfast.cost", metric.WithUnit("{USD}"), metric.WithDescription("What model calls cost."))
	if err != nil {
		t.Fatal(err)
	}
	level, err := m.Int64UpDownCounter("holdfast.sessions.active", metric.WithUnit("{session}"))
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(0.1, 1, 10))
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithExplicitBucketBoundaries(1, 4, 16))
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range []string{"Write", "Bash", "a\"b\\c\nd} 1"} {
		with := metric.WithAttributes(attribute.String("gen_ai.tool.name", tool), attribute.Int("turn", i), attribute.String("gen_ai_tool.name", "twice"))
		counts.Add(t.Context(), int64(i+1), with)
		cost.Add(t.Context(), 0.25, with)
		level.Add(t.Context(), -1, with)
		seconds.Record(t.Context(), 0.5*float64(i), with)
		tokens.Record(t.Context(), 1<<i*3, with)
	}
	level.Add(t.Context(), 2)
}

// The page has the same content for the same metrics as OpenTelemetry's own exporter for Prometheus.
func TestPageMatchesExporter(t *testing.T) {
	registry := prom.NewRegistry()
	reader, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	manual := sdkmetric.NewManualReader()
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithReader(manual),
		sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "holdfast"), attribute.String("service.version", "1"))))
	record(t, p.Meter("m"))
	official, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := manual.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(pmodel.LegacyValidation)
	holdfast, err := parser.TextToMetricFamilies(bytes.NewReader(otelwire.Page(&data)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*dto.MetricFamily{}
	for _, f := range official {
		want[f.GetName()] = f
	}
	if a, b := slices.Sorted(maps.Keys(holdfast)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("holdfast   %q\ntheirs %q", a, b)
	}
	for name, f := range want {
		got := holdfast[name]
		if got.GetType() != f.GetType() || got.GetHelp() != f.GetHelp() {
			t.Errorf("%s: %v %q, want %v %q", name, got.GetType(), got.GetHelp(), f.GetType(), f.GetHelp())
		}
		if a, b := flat(got), flat(f); !slices.Equal(a, b) {
			t.Errorf("%s:\nours   %v\ntheirs %v", name, a, b)
		}
	}
}

// flat returns a family's samples without times and exemplars, sorted.
func flat(f *dto.MetricFamily) []string {
	var list []string
	for _, m := range f.GetMetric() {
		var b strings.Builder
		labels := slices.Clone(m.GetLabel())
		slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		for _, l := range labels {
			b.WriteString(l.GetName() + "=" + l.GetValue() + ";")
		}
		write := func(v float64) { b.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64)) }
		switch {
		case m.GetHistogram() != nil:
			write(float64(m.GetHistogram().GetSampleCount()))
			write(m.GetHistogram().GetSampleSum())
			for _, k := range m.GetHistogram().GetBucket() {
				if !math.IsInf(k.GetUpperBound(), 1) {
					write(k.GetUpperBound())
					write(float64(k.GetCumulativeCount()))
				}
			}
		case m.GetCounter() != nil:
			write(m.GetCounter().GetValue())
		default:
			write(m.GetGauge().GetValue())
		}
		list = append(list, b.String())
	}
	slices.Sort(list)
	return list
}
