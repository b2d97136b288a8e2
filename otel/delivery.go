package otel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// DeliveryError says that a collector did not get everything.
type DeliveryError struct {
	URL    string
	Failed int   // requests
	Err    error // of the first that says why
}

func (e *DeliveryError) Error() string {
	return fmt.Sprintf("telemetry was not delivered to %s (%d failed): %s", e.URL, e.Failed, brief(e.Err))
}

// Hint says what to do about it.
func (e *DeliveryError) Hint() string {
	return "see whether a collector listens there, or set OTEL_SDK_DISABLED=true to send nothing"
}

func (e *DeliveryError) Unwrap() error { return e.Err }

// brief is an error on one line of bounded length: collectors answer with pages.
func brief(err error) string {
	const most = 300
	s := []rune(strings.Join(strings.Fields(err.Error()), " "))
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}

// delivery sends, and keeps what failed: the SDK would print it in the middle of a run.
type delivery struct {
	over   context.Context //nolint:containedctx // ends every request when time is up
	giveUp context.CancelFunc
	mu     sync.Mutex
	failed *DeliveryError
}

var errGrace = errors.New("it did not answer in time")

func newDelivery() *delivery {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &delivery{over: ctx, giveUp: func() { cancel(errGrace) }}
}

// send runs one request, which ends when time is up.
func (d *delivery) send(ctx context.Context, url string, request func(context.Context) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.over, func() { cancel(errGrace) })()
	err := request(ctx)
	if err == nil {
		return
	}
	if cause := context.Cause(ctx); errors.Is(cause, errGrace) {
		err = cause
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = &DeliveryError{URL: url, Err: err}
	}
	if errors.Is(d.failed.Err, errGrace) {
		d.failed.URL, d.failed.Err = url, err // a later one may know more
	}
	d.failed.Failed++
}

func (d *delivery) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		return nil
	}
	return d.failed
}

type spanSender struct {
	sdktrace.SpanExporter
	d   *delivery
	url string
}

func (d *delivery) spans(ctx context.Context, t *target) (sdktrace.SpanExporter, error) {
	compress := otlptracehttp.NoCompression
	if t.gzip {
		compress = otlptracehttp.GzipCompression
	}
	e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(t.url), otlptracehttp.WithHeaders(t.headers),
		otlptracehttp.WithTimeout(t.timeout), otlptracehttp.WithCompression(compress), otlptracehttp.WithHTTPClient(t.client))
	if err != nil {
		return nil, err
	}
	return &spanSender{SpanExporter: e, d: d, url: t.url}, nil
}

func (s *spanSender) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	s.d.send(ctx, s.url, func(ctx context.Context) error { return s.SpanExporter.ExportSpans(ctx, list) })
	return nil
}

type metricSender struct {
	sdkmetric.Exporter
	d   *delivery
	url string
}

func (d *delivery) metrics(ctx context.Context, t *target) (sdkmetric.Exporter, error) {
	compress := otlpmetrichttp.NoCompression
	if t.gzip {
		compress = otlpmetrichttp.GzipCompression
	}
	e, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(t.url), otlpmetrichttp.WithHeaders(t.headers),
		otlpmetrichttp.WithTimeout(t.timeout), otlpmetrichttp.WithCompression(compress), otlpmetrichttp.WithHTTPClient(t.client))
	if err != nil {
		return nil, err
	}
	return &metricSender{Exporter: e, d: d, url: t.url}, nil
}

func (s *metricSender) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	s.d.send(ctx, s.url, func(ctx context.Context) error { return s.Exporter.Export(ctx, m) })
	return nil
}
