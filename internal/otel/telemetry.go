package otel

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
)

// Options configure [New]. With the zero value, only [Telemetry.Handler] has metrics.
type Options struct {
	// Env returns the value of an environment variable, or "" if the variable is not set. If Env is
	// nil, nothing is sent.
	Env func(name string) string
	// Version is the service's version.
	Version string
	// Spans and Metrics also receive what is sent. They are shut down with the telemetry.
	Spans   []sdktrace.SpanProcessor
	Metrics []sdkmetric.Reader
	// Grace is how long Shutdown waits for a collector; default: 2 s.
	Grace time.Duration
	Clock func() time.Time // default time.Now
}

// Telemetry records spans and metrics of agents. It observes any number of agents, each on a
// separate goroutine, and never waits for a collector while it observes.
type Telemetry struct {
	grace       time.Duration
	clock       func() time.Time
	tracer      trace.Tracer
	spans       *sdktrace.TracerProvider
	meter       *sdkmetric.MeterProvider
	instruments *instruments
	page        *sdkmetric.ManualReader
	parent      context.Context //nolint:containedctx // it only carries the parent of all other spans
	sent        *delivery

	mu        sync.Mutex
	observers map[string]*agentObserver // by session, while a turn is open
	named     []*agentObserver
	callers   map[string]parentContext // key: the session of a sub-agent; value: the tool use that started the sub-agent
}

var _ agent.LoopObserver = (*Telemetry)(nil)

// New returns telemetry that exports as the environment configures; an invalid value is an
// *[Error]. It opens no connection yet. The parent of its spans is the span in ctx or in the
// variable TRACEPARENT. The caller shuts it down.
func New(ctx context.Context, o *Options) (*Telemetry, error) {
	var opt Options
	if o != nil {
		opt = *o
	}
	if opt.Env == nil {
		opt.Env = func(string) string { return "" }
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Grace <= 0 {
		opt.Grace = 2 * time.Second
	}
	env, err := readEnvironment(opt.Env)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		grace: opt.Grace, clock: opt.Clock, page: sdkmetric.NewManualReader(),
		parent: parentOf(ctx, env), observers: map[string]*agentObserver{}, callers: map[string]parentContext{}, sent: newDelivery(),
	}
	if err := t.provide(&opt, env); err != nil {
		return nil, err
	}
	t.instruments, err = newInstruments(t.meter.Meter(scopeName, metric.WithInstrumentationVersion(opt.Version), metric.WithSchemaURL(schemaURL)))
	return t, err
}

func parentOf(ctx context.Context, env environment) context.Context {
	out := trace.ContextWithSpanContext(context.Background(), trace.SpanContextFromContext(ctx))
	if !trace.SpanContextFromContext(out).IsValid() {
		out = propagation.TraceContext{}.Extract(out, propagation.MapCarrier(env.traceparent))
	}
	return out
}

// provide creates the providers of spans and metrics.
func (t *Telemetry) provide(opt *Options, env environment) error {
	res, err := describe(opt.Version, env.resource)
	if err != nil {
		return err
	}
	spans := []sdktrace.TracerProviderOption{sdktrace.WithResource(res), sdktrace.WithSampler(env.sampler)}
	for _, p := range opt.Spans {
		spans = append(spans, sdktrace.WithSpanProcessor(p))
	}
	meters := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(t.page)}
	for _, r := range opt.Metrics {
		meters = append(meters, sdkmetric.WithReader(r))
	}
	if env.traces != nil {
		spans = append(spans, sdktrace.WithBatcher(t.sent.spans(env.traces), sdktrace.WithMaxQueueSize(env.queue),
			sdktrace.WithMaxExportBatchSize(env.batch), sdktrace.WithBatchTimeout(env.delay)))
	}
	if env.metrics != nil {
		meters = append(meters, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(t.sent.metrics(env.metrics), sdkmetric.WithInterval(env.interval))))
	}
	t.spans = sdktrace.NewTracerProvider(spans...)
	t.meter = sdkmetric.NewMeterProvider(meters...)
	t.tracer = t.spans.Tracer(scopeName, trace.WithInstrumentationVersion(opt.Version), trace.WithSchemaURL(schemaURL))
	return nil
}

// describe returns the resource. The attributes in the environment take precedence over the
// defaults.
func describe(version string, configured []attribute.KeyValue) (*resource.Resource, error) {
	defaults := []attribute.KeyValue{
		attribute.String("service.name", serviceName),
		attribute.String("telemetry.sdk.name", "opentelemetry"),
		attribute.String("telemetry.sdk.language", "go"),
	}
	if version != "" {
		defaults = append(defaults, attribute.String("service.version", version))
	}
	return resource.Merge(resource.NewSchemaless(defaults...), resource.NewSchemaless(configured...))
}

// Observe observes a run as an [agent.LoopObserver]. It distinguishes agents by their sessions; for
// agents without a session store use [Telemetry.Agent]. The turns of a sub-agent are children of
// its tool use.
func (t *Telemetry) Observe(session string, e event.Event) {
	if o, ok := e.(event.SessionOpened); ok && o.Caller != "" {
		t.storeCaller(session, o)
	}
	t.mu.Lock()
	w := t.observers[session]
	if w == nil {
		w = &agentObserver{t: t, caller: t.callers[session]}
		w.name = w.caller.name
		t.observers[session] = w
	}
	t.mu.Unlock()
	w.Observe(session, e)
	if w.idle() {
		t.mu.Lock()
		delete(t.observers, session)
		t.mu.Unlock()
	}
}

// parentContext contains the parent span and the name of a sub-agent.
type parentContext struct {
	ctx  context.Context //nolint:containedctx // it only carries the span of the tool use
	name string
}

// maxCallers is the maximum number of known sub-agents. If a sub-agent is no longer known, its
// turns get no parent.
const maxCallers = 4096

// storeCaller stores which tool use started the session of a sub-agent.
func (t *Telemetry) storeCaller(session string, o event.SessionOpened) {
	t.mu.Lock()
	by := t.observers[o.Caller]
	t.mu.Unlock()
	c := parentContext{name: o.Name}
	if by != nil {
		c.ctx = by.spanContext(o.Use)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for old := range t.callers {
		if len(t.callers) < maxCallers {
			break
		}
		delete(t.callers, old)
	}
	t.callers[session] = c
}

// Agent returns an observer for one agent. The parameter name is the name of a sub-agent; for a
// main agent it is "".
func (t *Telemetry) Agent(name string) agent.LoopObserver {
	w := &agentObserver{t: t, name: name}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.named = append(t.named, w)
	return w
}

// Shutdown ends open spans, sends the remaining data and stops. It returns after Options.Grace, or
// when ctx ends, at the latest. The error is a *[DeliveryError] if anything could not be sent since
// the start. It is for the operator only.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	open := t.named
	for _, w := range t.observers {
		open = append(open, w)
	}
	t.named, t.observers = nil, map[string]*agentObserver{}
	t.mu.Unlock()
	for _, w := range open {
		w.abandon()
	}
	give := time.AfterFunc(t.grace, t.sent.giveUp)
	defer give.Stop()
	defer context.AfterFunc(ctx, t.sent.giveUp)()
	var group sync.WaitGroup
	var errs [2]error
	group.Go(func() { errs[0] = t.spans.Shutdown(context.WithoutCancel(ctx)) })
	group.Go(func() { errs[1] = t.meter.Shutdown(context.WithoutCancel(ctx)) })
	group.Wait()
	if err := t.sent.failure(); err != nil {
		return err
	}
	return errors.Join(errs[:]...)
}
