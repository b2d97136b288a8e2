package otel

import (
	"net/http"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// Handler serves the metrics in Prometheus' text format 0.0.4, with the names of OpenTelemetry's
// translation. It needs no OTEL_* variable and works until Shutdown.
func (t *Telemetry) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		var data metricdata.ResourceMetrics
		if err := t.page.Collect(r.Context(), &data); err != nil {
			http.Error(w, "cannot collect the metrics: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(otelwire.Page(&data))
	})
}
