package otelwire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// EncodeMetrics encodes the metrics as an ExportMetricsServiceRequest. The error names the metrics
// that cannot be encoded; all others are encoded.
func EncodeMetrics(all *metricdata.ResourceMetrics) ([]byte, error) {
	var m message
	var errs []error
	m.nested(1, func() {
		m.nested(1, func() { m.iterated(1, all.Resource.Iter()) })
		for _, s := range all.ScopeMetrics {
			m.nested(2, func() {
				m.scope(s.Scope)
				for _, one := range s.Metrics {
					errs = append(errs, m.metric(one))
				}
				m.text(3, s.Scope.SchemaURL)
			})
		}
		m.text(3, all.Resource.SchemaURL())
	})
	return m.b, errors.Join(errs...)
}

// metric writes one metric, or nothing if its kind of numbers is unknown.
func (m *message) metric(one metricdata.Metrics) error {
	field, temporality, write := m.numbers(one.Data)
	if write == nil {
		return fmt.Errorf("metric %s: %T cannot be sent", one.Name, one.Data)
	}
	if temporality != nil && *temporality != metricdata.CumulativeTemporality && *temporality != metricdata.DeltaTemporality {
		return fmt.Errorf("metric %s: temporality %d cannot be sent", one.Name, *temporality)
	}
	m.nested(2, func() {
		m.text(1, one.Name)
		m.text(2, one.Description)
		m.text(3, one.Unit)
		m.nested(field, func() {
			write()
			if temporality != nil {
				m.temporality(*temporality)
			}
		})
	})
	return nil
}

func (m *message) temporality(t metricdata.Temporality) {
	if t == metricdata.DeltaTemporality {
		m.varint(2, 1)
		return
	}
	m.varint(2, 2)
}

// numbers describes the numbers of a metric. It returns the field of Metric for them, the
// temporality if this kind has one, and a function that writes them.
func (m *message) numbers(data metricdata.Aggregation) (field int, t *metricdata.Temporality, write func()) {
	switch d := data.(type) {
	case metricdata.Gauge[int64]:
		return 5, nil, func() { points(m, d.DataPoints) }
	case metricdata.Gauge[float64]:
		return 5, nil, func() { points(m, d.DataPoints) }
	case metricdata.Sum[int64]:
		return 7, &d.Temporality, func() { points(m, d.DataPoints); m.boolField(3, d.IsMonotonic) }
	case metricdata.Sum[float64]:
		return 7, &d.Temporality, func() { points(m, d.DataPoints); m.boolField(3, d.IsMonotonic) }
	case metricdata.Histogram[int64]:
		return 9, &d.Temporality, func() { histogramPoints(m, d.DataPoints) }
	case metricdata.Histogram[float64]:
		return 9, &d.Temporality, func() { histogramPoints(m, d.DataPoints) }
	case metricdata.ExponentialHistogram[int64]:
		return 10, &d.Temporality, func() { exponentialPoints(m, d.DataPoints) }
	case metricdata.ExponentialHistogram[float64]:
		return 10, &d.Temporality, func() { exponentialPoints(m, d.DataPoints) }
	case metricdata.Summary:
		return 11, nil, func() { m.summaryPoints(d.DataPoints) }
	}
	return 0, nil, nil
}

func points[N int64 | float64](m *message, list []metricdata.DataPoint[N]) {
	for _, p := range list {
		m.nested(1, func() {
			m.fixed64(2, nanos(p.StartTime))
			m.fixed64(3, nanos(p.Time))
			oneNumber(m, p.Value, 4)
			exemplars(m, 5, p.Exemplars)
			m.iterated(7, p.Attributes.Iter())
		})
	}
}

// oneNumber writes a float into its field, or an integer into field 6.
func oneNumber[N int64 | float64](m *message, v N, float int) {
	switch v := any(v).(type) {
	case int64:
		m.present64(6, uint64(v)) //nolint:gosec // the conversion keeps the bits
	case float64:
		m.presentDouble(float, v)
	}
}

func exemplars[N int64 | float64](m *message, field int, list []metricdata.Exemplar[N]) {
	for _, e := range list {
		m.nested(field, func() {
			m.fixed64(2, nanos(e.Time))
			oneNumber(m, e.Value, 3)
			m.bytes(4, e.SpanID)
			m.bytes(5, e.TraceID)
			m.attributes(7, e.FilteredAttributes)
		})
	}
}

func histogramPoints[N int64 | float64](m *message, list []metricdata.HistogramDataPoint[N]) {
	for _, p := range list {
		m.nested(1, func() {
			m.fixed64(2, nanos(p.StartTime))
			m.fixed64(3, nanos(p.Time))
			m.fixed64(4, p.Count)
			m.presentDouble(5, float64(p.Sum))
			packed(m, 6, p.BucketCounts, binary.LittleEndian.AppendUint64)
			packed(m, 7, p.Bounds, appendDouble)
			exemplars(m, 8, p.Exemplars)
			m.iterated(9, p.Attributes.Iter())
			extreme(m, 11, p.Min)
			extreme(m, 12, p.Max)
		})
	}
}

func appendDouble(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func extreme[N int64 | float64](m *message, field int, e metricdata.Extrema[N]) {
	if v, ok := e.Value(); ok {
		m.presentDouble(field, float64(v))
	}
}

func exponentialPoints[N int64 | float64](m *message, list []metricdata.ExponentialHistogramDataPoint[N]) {
	for _, p := range list {
		m.nested(1, func() {
			m.iterated(1, p.Attributes.Iter())
			m.fixed64(2, nanos(p.StartTime))
			m.fixed64(3, nanos(p.Time))
			m.fixed64(4, p.Count)
			m.presentDouble(5, float64(p.Sum))
			m.zigzag(6, p.Scale)
			m.fixed64(7, p.ZeroCount)
			m.buckets(8, p.PositiveBucket)
			m.buckets(9, p.NegativeBucket)
			exemplars(m, 11, p.Exemplars)
			extreme(m, 12, p.Min)
			extreme(m, 13, p.Max)
			m.double(14, p.ZeroThreshold)
		})
	}
}

func (m *message) buckets(field int, b metricdata.ExponentialBucket) {
	m.nested(field, func() {
		m.zigzag(1, b.Offset)
		packed(m, 2, b.Counts, binary.AppendUvarint)
	})
}

func (m *message) summaryPoints(list []metricdata.SummaryDataPoint) {
	for _, p := range list {
		m.nested(1, func() {
			m.fixed64(2, nanos(p.StartTime))
			m.fixed64(3, nanos(p.Time))
			m.fixed64(4, p.Count)
			m.double(5, p.Sum)
			for _, q := range p.QuantileValues {
				m.nested(6, func() {
					m.double(1, q.Quantile)
					m.double(2, q.Value)
				})
			}
			m.iterated(7, p.Attributes.Iter())
		})
	}
}
