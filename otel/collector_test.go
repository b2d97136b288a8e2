package otel_test

import (
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	colltraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/otel"
)

// collector is a receiver of OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	spans   map[string]map[string]string // name to attributes
	about   map[string]string            // the resource
	metrics map[string]int               // name to samples
	fault   error
}

func collect(t testing.TB) *collector {
	t.Helper()
	c := &collector{spans: map[string]map[string]string{}, metrics: map[string]int{}, about: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /base/v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var m colltraces.ExportTraceServiceRequest
		c.take(r, &m, func() {
			for _, rs := range m.GetResourceSpans() {
				c.noteResource(rs.GetResource().GetAttributes())
				for _, ss := range rs.GetScopeSpans() {
					for _, s := range ss.GetSpans() {
						c.spans[s.GetName()] = text(s.GetAttributes())
					}
				}
			}
		})
	})
	mux.HandleFunc("POST /base/v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var m collmetrics.ExportMetricsServiceRequest
		c.take(r, &m, func() {
			for _, rm := range m.GetResourceMetrics() {
				c.noteResource(rm.GetResource().GetAttributes())
				for _, sm := range rm.GetScopeMetrics() {
					for _, one := range sm.GetMetrics() {
						c.metrics[one.GetName()] += len(one.GetSum().GetDataPoints()) + len(one.GetHistogram().GetDataPoints())
					}
				}
			}
		})
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(r *http.Request, m proto.Message, note func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			c.fault = err
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(b, m)
	}
	if err != nil {
		c.fault = err
		return
	}
	note()
}

func (c *collector) noteResource(list []*common.KeyValue) {
	maps.Copy(c.about, text(list))
}

func text(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return m
}

func environ(pairs ...string) func(string) string {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(name string) string { return m[name] }
}

func TestCollectorGetsEverything(t *testing.T) {
	c := collect(t)
	for _, compression := range []string{"none", "gzip"} {
		tel, err := otel.New(t.Context(), &otel.Options{Version: "1.2.3", Env: environ(
			"OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/base", "OTEL_EXPORTER_OTLP_HEADERS=x-key=open%20sesame", "OTEL_SERVICE_NAME=mine",
			"OTEL_RESOURCE_ATTRIBUTES=team=a%2Cb,service.name=other", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_COMPRESSION="+compression,
		)})
		if err != nil {
			t.Fatal(err)
		}
		run(t, tel)
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		t.Fatal(c.fault)
	}
	for _, name := range []string{"invoke_agent", "chat play", "execute_tool Look", "execute_tool Write", "execute_tool Break", "wait_for_person", "hook PreToolUse"} {
		if c.spans[name]["gen_ai.conversation.id"] != "s-1" {
			t.Errorf("span %s: %v", name, c.spans[name])
		}
	}
	for _, name := range []string{"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "holdfast.decisions", "gen_ai.execute_tool.duration", "holdfast.approval.wait", "holdfast.hooks"} {
		if c.metrics[name] == 0 {
			t.Errorf("no samples of %s", name)
		}
	}
	for k, want := range map[string]string{"service.name": "mine", "service.version": "1.2.3", "team": "a,b"} {
		if c.about[k] != want {
			t.Errorf("resource: %s is %q, want %q", k, c.about[k], want)
		}
	}
	zipped := 0
	for _, h := range c.headers {
		if h.Get("X-Key") != "open sesame" || h.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("headers %v", h)
		}
		if h.Get("Content-Encoding") == "gzip" {
			zipped++
		}
	}
	if zipped == 0 || zipped == len(c.headers) {
		t.Errorf("%d of %d requests were compressed", zipped, len(c.headers))
	}
}

// Whatever a collector does, the run is as it would be without it, and the end says
// once that something was lost.
func TestCollectorThatFails(t *testing.T) {
	stop := make(chan struct{})
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	elsewhere := 0
	other := serve(func(http.ResponseWriter, *http.Request) { elsewhere++ })
	const soon, later = 50 * time.Millisecond, time.Minute // later: it ends by itself
	for _, tt := range []struct {
		name, url string
		grace     time.Duration
		want      string
	}{
		{"nobody listens", "http://127.0.0.1:1", later, "refused"},
		{"refuses", serve(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("no ", 1e5), http.StatusForbidden)
		}), later, "403"},
		{"is never ready", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), soon, "did not answer in time"},
		{"says nothing", serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}), soon, "did not answer in time"},
		{"sends elsewhere", serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		}), later, "307"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tel, err := otel.New(t.Context(), &otel.Options{
				Env:   environ("OTEL_EXPORTER_OTLP_ENDPOINT="+tt.url, "OTEL_EXPORTER_OTLP_HEADERS=authorization=hush", "OTEL_BSP_SCHEDULE_DELAY=1"),
				Grace: tt.grace,
			})
			if err != nil {
				t.Fatal(err)
			}
			run(t, tel)
			err = tel.Shutdown(t.Context())
			var lost *otel.DeliveryError
			if !errors.As(err, &lost) || lost.Failed == 0 || lost.Hint() == "" {
				t.Fatalf("got %v", err)
			}
			if s := err.Error(); !strings.Contains(s, tt.want) || len(s) > 500 || strings.Contains(s, "hush") || strings.Contains(s, "\n") {
				t.Errorf("it says %q", s)
			}
		})
	}
	close(stop)
	if elsewhere > 0 {
		t.Error("a redirect was followed, with the headers")
	}
}
