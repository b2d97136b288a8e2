package otel

import (
	"strings"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// temporality reads whether counters and histograms are exported as totals or as differences since
// the last export. Gauges always export their current value.
func (r *reader) temporality() sdkmetric.TemporalitySelector {
	const name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
	switch v := r.text(name); strings.ToLower(v) {
	case "", "cumulative":
		return sdkmetric.CumulativeTemporalitySelector
	case "delta":
		return sdkmetric.DeltaTemporalitySelector
	case "lowmemory":
		return sdkmetric.LowMemoryTemporalitySelector
	default:
		r.reject(name, v, "unknown preference", "set it to cumulative, delta or lowmemory")
		return nil
	}
}

// aggregation reads the type of histogram buckets.
func (r *reader) aggregation() sdkmetric.AggregationSelector {
	const name = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
	switch v := r.text(name); strings.ToLower(v) {
	case "", "explicit_bucket_histogram":
	case "base2_exponential_bucket_histogram":
		return exponential
	default:
		r.reject(name, v, "unsupported histogram", "set it to explicit_bucket_histogram or base2_exponential_bucket_histogram")
	}
	return sdkmetric.DefaultAggregationSelector
}

// exponential returns exponential buckets for histograms, with the size and the scale of the
// OpenTelemetry specification, and the default for all other instruments.
func exponential(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	if k == sdkmetric.InstrumentKindHistogram {
		return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	}
	return sdkmetric.DefaultAggregationSelector(k)
}
