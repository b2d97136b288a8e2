package otel_test

import (
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	pmodel "github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/otel"
)

// parsePage reads the page as Prometheus does.
func parsePage(t testing.TB, tel *otel.Telemetry) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	p := expfmt.NewTextParser(pmodel.LegacyValidation)
	families, err := p.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return families
}

// The page says what OpenTelemetry's own exporter for Prometheus says of the same run.
func TestPageIsThatOfTheLibrary(t *testing.T) {
	registry := prom.NewRegistry()
	reader, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	tel, err := otel.New(t.Context(), &otel.Options{Version: "1", Metrics: []sdkmetric.Reader{reader}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, tel)
	theirs, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := parsePage(t, tel)
	want := map[string]*dto.MetricFamily{}
	for _, f := range theirs {
		want[f.GetName()] = f
	}
	if a, b := slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("ours   %q\ntheirs %q", a, b)
	}
	for name, f := range want {
		got := ours[name]
		if got.GetType() != f.GetType() || got.GetHelp() != f.GetHelp() {
			t.Errorf("%s: %v %q, want %v %q", name, got.GetType(), got.GetHelp(), f.GetType(), f.GetHelp())
		}
		if a, b := flat(got), flat(f); !slices.Equal(a, b) {
			t.Errorf("%s:\nours   %v\ntheirs %v", name, a, b)
		}
	}
}

// flat is a family's samples without times and exemplars, sorted.
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

// What a model makes up as a tool's name does not break the page.
func TestPageQuotes(t *testing.T) {
	tel, err := otel.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const name = "a\"b\\c\nd} 1"
	tel.Observe("s", agent.ToolStarted{Use: "u", Tool: name})
	tel.Observe("s", agent.ToolFinished{Use: "u", Tool: name})
	tel.Observe("s", agent.ToolStarted{Use: "v", Tool: "\xff"})
	tel.Observe("s", agent.ToolFinished{Use: "v", Tool: "\xff"})
	f := parsePage(t, tel)["gen_ai_execute_tool_duration_seconds"]
	var got []string
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "gen_ai_tool_name" {
				got = append(got, l.GetValue())
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{name, "\uFFFD"}) {
		t.Errorf("%q", got)
	}
}

func TestPageRefuses(t *testing.T) {
	tel, err := otel.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method string) int {
		w := httptest.NewRecorder()
		tel.Handler().ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		return w.Code
	}
	if got := ask(http.MethodPost); got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(http.MethodGet); got != http.StatusServiceUnavailable {
		t.Errorf("after its end: %d", got)
	}
}
