package otel

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// Error reports an environment variable with an invalid value.
type Error struct {
	Variable, Value string // Value is empty if it may contain a secret
	Detail          string
	Advice          string // how to fix it
}

func (e *Error) Error() string {
	if e.Value == "" {
		return e.Variable + ": " + e.Detail
	}
	return e.Variable + "=" + e.Value + ": " + e.Detail
}

// Hint returns how to fix it.
func (e *Error) Hint() string { return e.Advice }

// environment is the configuration from OTEL_* variables.
type environment struct {
	resource        []attribute.KeyValue
	sampler         sdktrace.Sampler
	traceparent     map[string]string
	traces, metrics *target // nil: not sent
	queue, batch    int
	delay, interval time.Duration
}

// target says where one signal is sent.
type target struct {
	otelwire.Target
	temporality sdkmetric.TemporalitySelector // of metrics
	aggregation sdkmetric.AggregationSelector
}

const (
	endpointVar = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVar   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	metricsVar  = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	defaultURL  = "http://localhost:4318"
)

// Enabled reports whether the environment configures the export of spans or metrics. It also
// returns true if a value is invalid, so that [New] can report it. It is cheap to call.
func Enabled(env func(name string) string) bool {
	if strings.EqualFold(strings.TrimSpace(env("OTEL_SDK_DISABLED")), "true") {
		return false
	}
	for _, name := range []string{endpointVar, tracesVar, metricsVar} {
		if env(name) != "" {
			return true
		}
	}
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		if v := env(name); v != "" && v != "none" {
			return true
		}
	}
	return false
}

// readEnvironment reads the OTEL_* variables; errors are *[Error].
func readEnvironment(get func(string) string) (environment, error) {
	r := &reader{get: get}
	off := r.boolean("OTEL_SDK_DISABLED")
	e := environment{sampler: r.sampler()}
	e.resource = r.resource()
	e.queue = r.count("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize)
	e.batch = min(r.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize), e.queue)
	e.delay = r.millis("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay*time.Millisecond)
	e.interval = r.millis("OTEL_METRIC_EXPORT_INTERVAL", time.Minute)
	e.traceparent = map[string]string{"traceparent": get("TRACEPARENT"), "tracestate": get("TRACESTATE")}
	if !off && r.sends("TRACES") {
		e.traces = r.target("TRACES", "/v1/traces")
	}
	if !off && r.sends("METRICS") {
		e.metrics = r.target("METRICS", "/v1/metrics")
		e.metrics.temporality, e.metrics.aggregation = r.temporality(), r.aggregation()
	}
	if r.err != nil {
		return environment{}, r.err
	}
	return e, nil
}

// sends reports whether a signal is exported.
func (r *reader) sends(signal string) bool {
	name := "OTEL_" + signal + "_EXPORTER"
	switch v := r.text(name); v {
	case "otlp":
		return true
	case "none":
		return false
	case "":
		return r.text(endpointVar) != "" || r.text("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	case "prometheus":
		r.reject(name, v, "a run does not serve metrics", "use the daemon's /metrics; for a run set it to otlp or none")
	default:
		r.reject(name, v, "unsupported exporter", "set it to otlp or none")
	}
	return false
}

// signal reads an OTLP variable. The variable may be set for all signals or only for one of them.
func (r *reader) signal(signal, name string) (variable, value string) {
	variable = "OTEL_EXPORTER_OTLP_" + signal + "_" + name
	if v := r.text(variable); v != "" {
		return variable, v
	}
	variable = "OTEL_EXPORTER_OTLP_" + name
	return variable, r.text(variable)
}

func (r *reader) target(signal, path string) *target {
	if name, v := r.signal(signal, "PROTOCOL"); v != "" && v != "http/protobuf" {
		r.reject(name, v, "unsupported protocol", "set it to http/protobuf; collectors usually accept it at port 4318")
	}
	t := &target{Target: otelwire.Target{URL: r.endpoint(signal, path)}}
	name, v := r.signal(signal, "HEADERS")
	t.Headers = r.pairs(name, v, true)
	timeout := 10 * time.Second
	if name, v := r.signal(signal, "TIMEOUT"); v != "" {
		timeout = r.millis(name, timeout)
	}
	switch name, v := r.signal(signal, "COMPRESSION"); v {
	case "", "none":
	case "gzip":
		t.Gzip = true
	default:
		r.reject(name, v, "unsupported compression", "set it to gzip or none")
	}
	t.Client = &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: r.certificates(signal), ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t
}

// endpoint returns the URL of a signal. The value of the general variable is a base URL to which
// the signal's path is added. The value of a signal's variable is the complete URL.
func (r *reader) endpoint(signal, path string) string {
	name, v := r.signal(signal, "ENDPOINT")
	if v == "" {
		v = defaultURL
	}
	const hint = "set it to a URL such as " + defaultURL
	u, err := url.Parse(v)
	switch {
	case err != nil:
		r.reject(name, "", "not a URL", hint)
		return ""
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.reject(name, u.Redacted(), "not an http or https address", hint)
	case u.User != nil:
		r.reject(name, u.Redacted(), "user names and passwords in the URL are not sent", "send them with OTEL_EXPORTER_OTLP_HEADERS=authorization=…")
	case u.RawQuery != "" || u.Fragment != "":
		r.reject(name, u.Redacted(), "a query in the URL is not supported", hint)
	}
	switch {
	case name == endpointVar:
		u = u.JoinPath(path)
	case u.Path == "":
		u.Path = "/"
	}
	return u.String()
}

// certificates returns the TLS configuration for the collector's and the client's certificates, or
// nil.
func (r *reader) certificates(signal string) *tls.Config {
	var c tls.Config
	if name, v := r.signal(signal, "CERTIFICATE"); v != "" {
		c.RootCAs = r.pool(name, v)
	}
	certVar, cert := r.signal(signal, "CLIENT_CERTIFICATE")
	keyVar, key := r.signal(signal, "CLIENT_KEY")
	switch {
	case cert != "" && key != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			r.reject(certVar, cert, err.Error(), "set it to a PEM file, and set its key in "+keyVar)
		}
		c.Certificates = []tls.Certificate{pair}
	case cert != "" || key != "":
		r.reject(certVar, cert, "a certificate needs its key, and the key its certificate", "also set "+keyVar)
	}
	if c.RootCAs == nil && c.Certificates == nil {
		return nil
	}
	return &c
}
