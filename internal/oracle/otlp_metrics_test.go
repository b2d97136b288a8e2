package oracle

import (
	"errors"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	collmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

func exemplarsOf[N int64 | float64](v N) []metricdata.Exemplar[N] {
	return []metricdata.Exemplar[N]{
		{Time: when, Value: v, SpanID: []byte{1, 2, 3, 4, 5, 6, 7, 8}, TraceID: make([]byte, 16), FilteredAttributes: every},
		{},
	}
}

// everyKind has each kind of metric, with v as its value and without a value.
func everyKind[N int64 | float64](v N, t metricdata.Temporality) []metricdata.Metrics {
	set, start := attribute.NewSet(every...), when.Add(-time.Hour)
	point := metricdata.DataPoint[N]{Attributes: set, StartTime: start, Time: when, Value: v, Exemplars: exemplarsOf(v)}
	h := metricdata.HistogramDataPoint[N]{
		Attributes: set, StartTime: start, Time: when, Count: 7, Bounds: []float64{-1, 0, math.Inf(1)}, BucketCounts: []uint64{0, 1, 1 << 63, 3},
		Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(-v), Sum: v, Exemplars: exemplarsOf(v),
	}
	e := metricdata.ExponentialHistogramDataPoint[N]{
		Attributes: set, StartTime: start, Time: when, Count: 7, Scale: -3, ZeroCount: 2, ZeroThreshold: 0.25, Sum: v,
		Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(v), Exemplars: exemplarsOf(v),
		PositiveBucket: metricdata.ExponentialBucket{Offset: math.MinInt32, Counts: []uint64{0, 1, math.MaxUint64}},
		NegativeBucket: metricdata.ExponentialBucket{Offset: math.MaxInt32},
	}
	return []metricdata.Metrics{
		{Name: "gauge", Description: "d", Unit: "s", Data: metricdata.Gauge[N]{DataPoints: []metricdata.DataPoint[N]{point, {}}}},
		{Name: "sum", Data: metricdata.Sum[N]{Temporality: t, IsMonotonic: true, DataPoints: []metricdata.DataPoint[N]{point, {Value: 0}}}},
		{Name: "level", Data: metricdata.Sum[N]{Temporality: t}},
		{Name: "histogram", Data: metricdata.Histogram[N]{Temporality: t, DataPoints: []metricdata.HistogramDataPoint[N]{h, {}}}},
		{Name: "exponential", Data: metricdata.ExponentialHistogram[N]{Temporality: t, DataPoints: []metricdata.ExponentialHistogramDataPoint[N]{e, {}}}},
	}
}

func scoped(list ...metricdata.Metrics) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes("https://example.org/r", every...),
		ScopeMetrics: []metricdata.ScopeMetrics{
			{Scope: instrumentation.Scope{Name: "n", Version: "1", SchemaURL: "https://example.org/s", Attributes: attribute.NewSet(every...)}, Metrics: list},
			{},
		},
	}
}

func TestMetricsMatchSDK(t *testing.T) {
	x := newOfficial(t)
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		for _, v := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
			x.compareMetrics(t, scoped(everyKind(v, temporality)...))
		}
		for _, v := range []float64{0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(-1)} {
			x.compareMetrics(t, scoped(everyKind(v, temporality)...))
		}
	}
	x.compareMetrics(t, scoped(metricdata.Metrics{Name: "summary", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{
		{Attributes: attribute.NewSet(every...), StartTime: when, Time: when, Count: 3, Sum: 2.5, QuantileValues: []metricdata.QuantileValue{{}, {Quantile: 0.5, Value: -1}}}, {},
	}}}))
	x.compareMetrics(t, &metricdata.ResourceMetrics{})
}

// drawMetrics draws metrics of every kind.
func drawMetrics(t *rapid.T, set attribute.Set) *metricdata.ResourceMetrics {
	n, f, list := rapid.Int64().Draw(t, "n"), rapid.Float64().Draw(t, "f"), rapid.SliceOf(rapid.Uint64()).Draw(t, "counts")
	at := time.Unix(0, rapid.Int64().Draw(t, "at"))
	small := rapid.Int32().Draw(t, "small")
	return scoped(
		metricdata.Metrics{Name: rapid.String().Draw(t, "name"), Data: metricdata.Sum[int64]{
			Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Time: at, Value: n}},
		}},
		metricdata.Metrics{Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{
			{Attributes: set, StartTime: at, BucketCounts: list, Bounds: rapid.SliceOf(rapid.Float64()).Draw(t, "bounds"), Sum: f, Max: metricdata.NewExtrema(f)},
		}}},
		metricdata.Metrics{Data: metricdata.ExponentialHistogram[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{
			{Attributes: set, Scale: small, ZeroThreshold: f, Sum: n, NegativeBucket: metricdata.ExponentialBucket{Offset: small, Counts: list}},
		}}},
	)
}

// The error names what cannot be encoded, and the rest is encoded.
func TestUnknownMetrics(t *testing.T) {
	good := metricdata.Metrics{Name: "good", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 1}}}}
	body, err := otelwire.EncodeMetrics(scoped(metricdata.Metrics{Name: "none"}, metricdata.Metrics{Name: "odd", Data: metricdata.Sum[int64]{}}, good))
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 2 {
		t.Errorf("got %v", err)
	}
	var m collmetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if list := m.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics(); len(list) != 1 || list[0].GetName() != "good" {
		t.Errorf("sent %v", list)
	}
}
