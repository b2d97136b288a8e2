package otel

import (
	"errors"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestMetricsPreferences(t *testing.T) {
	for _, tt := range []struct {
		temporality, histogram string
		count, level           metricdata.Temporality
		refused                bool
	}{
		{"", "", metricdata.CumulativeTemporality, metricdata.CumulativeTemporality, false},
		{"cumulative", "explicit_bucket_histogram", metricdata.CumulativeTemporality, metricdata.CumulativeTemporality, false},
		{"Delta", "base2_exponential_bucket_histogram", metricdata.DeltaTemporality, metricdata.CumulativeTemporality, false},
		{"lowmemory", "", metricdata.DeltaTemporality, metricdata.CumulativeTemporality, false},
		{"often", "", 0, 0, true},
		{"", "round", 0, 0, true},
	} {
		e, err := readEnvironment(func(name string) string {
			return map[string]string{
				"OTEL_METRICS_EXPORTER":                             "otlp",
				"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": tt.temporality, "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": tt.histogram,
			}[name]
		})
		var refusal *Error
		if tt.refused {
			if !errors.As(err, &refusal) || refusal.Hint() == "" {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := newDelivery().metrics(e.metrics)
		_, round := s.Aggregation(sdkmetric.InstrumentKindHistogram).(sdkmetric.AggregationBase2ExponentialHistogram)
		if s.Temporality(sdkmetric.InstrumentKindCounter) != tt.count || s.Temporality(sdkmetric.InstrumentKindUpDownCounter) != tt.level || round != (tt.histogram == "base2_exponential_bucket_histogram") {
			t.Errorf("%+v: counters are %v, exponential %v", tt, s.Temporality(sdkmetric.InstrumentKindCounter), round)
		}
	}
}
