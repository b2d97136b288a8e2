package otel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// DeliveryError means that some telemetry was not delivered.
type DeliveryError struct {
	URL    string
	Failed int   // number of requests that failed
	Err    error // the most informative error
}

func (e *DeliveryError) Error() string {
	return fmt.Sprintf("telemetry was not delivered to %s (%d failed): %s", e.URL, e.Failed, brief(e.Err))
}

// Hint returns how to fix it.
func (e *DeliveryError) Hint() string {
	return "check that a collector is listening there, or set OTEL_SDK_DISABLED=true to send nothing"
}

func (e *DeliveryError) Unwrap() error { return e.Err }

// brief returns an error as one line of limited length, because collectors may answer with web
// pages.
func brief(err error) string {
	const most = 300
	s := []rune(strings.Join(strings.Fields(err.Error()), " "))
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}

// delivery sends requests. It stores failures, because the SDK would print them during a run.
type delivery struct {
	ended  context.Context //nolint:containedctx // ends every request at the deadline
	giveUp context.CancelFunc
	mu     sync.Mutex
	failed *DeliveryError
}

var errGrace = errors.New("no answer in time")

func newDelivery() *delivery {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &delivery{ended: ctx, giveUp: func() { cancel(errGrace) }}
}

// send runs one request, until the deadline at most.
func (d *delivery) send(ctx context.Context, url string, request func(context.Context) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.ended, func() { cancel(errGrace) })()
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
		d.failed.URL, d.failed.Err = url, err // a later error may have more details
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
	*otelwire.Poster
	url string
	d   *delivery
}

func (d *delivery) spans(t *target) sdktrace.SpanExporter {
	return &spanSender{otelwire.NewPoster(&t.Target, "spans"), t.URL, d}
}

func (s *spanSender) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	if m := otelwire.EncodeSpans(list); m != nil {
		s.d.send(ctx, s.url, func(ctx context.Context) error { return s.Post(ctx, m) })
	}
	return nil
}

func (s *spanSender) Shutdown(context.Context) error {
	s.Close()
	return nil
}

type metricSender struct {
	*otelwire.Poster
	to *target
	d  *delivery
}

func (d *delivery) metrics(t *target) sdkmetric.Exporter {
	return &metricSender{otelwire.NewPoster(&t.Target, "data points"), t, d}
}

func (s *metricSender) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	m, encodeErr := otelwire.EncodeMetrics(all)
	s.d.send(ctx, s.to.URL, func(ctx context.Context) error { return errors.Join(encodeErr, s.Post(ctx, m)) })
	return nil
}

func (s *metricSender) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return s.to.temporality(k)
}

func (s *metricSender) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return s.to.aggregation(k)
}

func (*metricSender) ForceFlush(context.Context) error { return nil }

func (s *metricSender) Shutdown(context.Context) error {
	s.Close()
	return nil
}
