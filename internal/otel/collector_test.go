package otel_test

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/otel"
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

func newCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{spans: map[string]map[string]string{}, metrics: map[string]int{}, about: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /base/v1/traces", func(w http.ResponseWriter, r *http.Request) {
		for _, rs := range each(c.take(r), 1) {
			c.locked(func() {
				maps.Copy(c.about, text(each(rs, 1, 1)))
				for _, span := range each(rs, 2, 2) {
					c.spans[first(span, 5)] = text(each(span, 9))
				}
			})
		}
	})
	mux.HandleFunc("POST /base/v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		for _, rm := range each(c.take(r), 1) {
			c.locked(func() {
				maps.Copy(c.about, text(each(rm, 1, 1)))
				for _, m := range each(rm, 2, 2) {
					c.metrics[first(m, 1)] += len(each(m, 7, 1)) + len(each(m, 9, 1)) // of a sum and of a histogram
				}
			})
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// take reads a request's message.
func (c *collector) take(r *http.Request) []byte {
	var body io.Reader = r.Body
	var err error
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(body)
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(body)
	}
	c.locked(func() {
		c.headers = append(c.headers, r.Header.Clone())
		if err != nil {
			c.fault = err
		}
	})
	return b
}

// each returns the values at a path of field numbers in a protobuf message. internal/oracle checks
// that the official code reads the same.
func each(b []byte, path ...uint64) [][]byte {
	if len(path) == 0 {
		return [][]byte{b}
	}
	var list [][]byte
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		v, m := binary.Uvarint(b[n:])
		size := map[uint64]int{0: m, 1: 8, 2: m + int(v), 5: 4}[tag&7]
		if tag == path[0]<<3|2 {
			list = append(list, each(b[n+m:n+size], path[1:]...)...)
		}
		b = b[n+size:]
	}
	return list
}

// first returns the first text at a path, or "".
func first(b []byte, path ...uint64) string {
	for _, s := range each(b, path...) {
		return string(s)
	}
	return ""
}

// text reads attributes whose values are strings.
func text(list [][]byte) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[first(a, 1)] = first(a, 2, 1)
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

func TestCollector(t *testing.T) {
	c := newCollector(t)
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

// Whatever a collector does, the run is the same as without it, and Shutdown reports once that
// something was lost.
func TestFailingCollector(t *testing.T) {
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
		{"no listener", "http://127.0.0.1:1", later, "refused"},
		{"refuses", serve(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("no ", 1e5), http.StatusForbidden)
		}), later, "403"},
		{"is never ready", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), soon, "no answer in time"},
		{"says nothing", serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}), soon, "no answer in time"},
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
