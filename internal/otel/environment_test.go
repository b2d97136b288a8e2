package otel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/otel"
)

func TestEnvironmentErrors(t *testing.T) {
	const on = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1"
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env      []string
		variable string
	}{
		{[]string{"OTEL_SDK_DISABLED=maybe"}, "OTEL_SDK_DISABLED"},
		{[]string{"OTEL_TRACES_EXPORTER=zipkin"}, "OTEL_TRACES_EXPORTER"},
		{[]string{"OTEL_TRACES_EXPORTER=console"}, "OTEL_TRACES_EXPORTER"},
		{[]string{"OTEL_METRICS_EXPORTER=prometheus"}, "OTEL_METRICS_EXPORTER"},
		{[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{[]string{on, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://%zz"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://ann:hush@localhost"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost?key=x"}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"},
		{[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=hush"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=a b=hush"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=a=hush%0Ab"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=content-type=hush"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{[]string{on, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=%zz"}, "OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
		{[]string{on, "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{[]string{on, "OTEL_EXPORTER_OTLP_TIMEOUT=0"}, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{[]string{on, "OTEL_EXPORTER_OTLP_COMPRESSION=zstd"}, "OTEL_EXPORTER_OTLP_COMPRESSION"},
		{[]string{on, "OTEL_EXPORTER_OTLP_CERTIFICATE=/does/not/exist"}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{[]string{on, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + junk}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{[]string{on, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + junk}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{[]string{on, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + junk, "OTEL_EXPORTER_OTLP_CLIENT_KEY=" + junk}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=team"}, "OTEL_RESOURCE_ATTRIBUTES"},
		{[]string{"OTEL_TRACES_SAMPLER=often"}, "OTEL_TRACES_SAMPLER"},
		{[]string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=2"}, "OTEL_TRACES_SAMPLER_ARG"},
		{[]string{"OTEL_BSP_MAX_QUEUE_SIZE=-1"}, "OTEL_BSP_MAX_QUEUE_SIZE"},
		{[]string{"OTEL_METRIC_EXPORT_INTERVAL=often"}, "OTEL_METRIC_EXPORT_INTERVAL"},
	} {
		t.Run(strings.Join(tt.env, " "), func(t *testing.T) {
			_, err := otel.New(t.Context(), &otel.Options{Env: environ(tt.env...)})
			var e *otel.Error
			if !errors.As(err, &e) || e.Variable != tt.variable || e.Hint() == "" {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the secret is in %q", err)
			}
		})
	}
}

func TestEnabled(t *testing.T) {
	for _, tt := range []struct {
		env  string
		want bool
	}{
		{"", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", true},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4318", true},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost:4318", true},
		{"OTEL_TRACES_EXPORTER=otlp", true},
		{"OTEL_METRICS_EXPORTER=otlp", true},
		{"OTEL_TRACES_EXPORTER=zipkin", true}, // New rejects it
		{"OTEL_TRACES_EXPORTER=none", false},
		{"OTEL_SERVICE_NAME=x", false},
		{"OTEL_SDK_DISABLED=TRUE OTEL_TRACES_EXPORTER=otlp", false},
		{"OTEL_SDK_DISABLED=false OTEL_TRACES_EXPORTER=otlp", true},
	} {
		if got := otel.Enabled(environ(strings.Fields(tt.env)...)); got != tt.want {
			t.Errorf("%s: %v", tt.env, got)
		}
	}
}

// One signal can be sent alone, and none if the environment disables it.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		env             []string
		traces, metrics bool
	}{
		{[]string{"OTEL_METRICS_EXPORTER=none"}, true, false},
		{[]string{"OTEL_TRACES_EXPORTER=none"}, false, true},
		{[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp"}, true, true},
		{[]string{"OTEL_SDK_DISABLED=true"}, false, false},
		{[]string{"OTEL_TRACES_SAMPLER=always_off"}, false, true},
	} {
		t.Run(strings.Join(tt.env, " "), func(t *testing.T) {
			c := newCollector(t)
			tel, err := otel.New(t.Context(), &otel.Options{Env: environ(append(tt.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/base/")...)})
			if err != nil {
				t.Fatal(err)
			}
			run(t, tel)
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if (len(c.spans) > 0) != tt.traces || (len(c.metrics) > 0) != tt.metrics {
				t.Errorf("%d spans, %d metrics", len(c.spans), len(c.metrics))
			}
		})
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add("http://localhost:4318", "a=b,c=%20", "team=x", "0.5")
	f.Add("://", "=,=", "%", "NaN")
	f.Fuzz(func(t *testing.T, url, headers, resource, ratio string) {
		tel, err := otel.New(t.Context(), &otel.Options{Env: environ(
			"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_EXPORTER_OTLP_HEADERS="+headers,
			"OTEL_RESOURCE_ATTRIBUTES="+resource, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG="+ratio,
			"OTEL_METRIC_EXPORT_INTERVAL=86400000",
		)})
		var e *otel.Error
		if err != nil {
			if !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("%v has no hint", err)
			}
			return
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = tel.Shutdown(ended) // nothing is sent, because the time is up
	})
}
