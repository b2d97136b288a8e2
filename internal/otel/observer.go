package otel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// agentObserver observes one agent.
type agentObserver struct {
	t      *Telemetry
	name   string
	caller parentContext

	mu      sync.Mutex // Shutdown runs on a different goroutine
	session string
	turn    *span
	chat    *span
	first   bool             // a piece of the answer has arrived
	tools   map[string]*span // by use
	waits   map[string]*span // by approval
	decided map[string]policy.Decision
	current turnTotals
}

// turnTotals has the totals of a turn.
type turnTotals struct {
	id       string
	provider string
	model    string
	usage    transcript.Usage
	cost     float64
}

// span is an open span, with the labels for its metric.
type span struct {
	trace.Span
	ctx    context.Context //nolint:containedctx // the parent of the spans inside this span
	began  time.Time
	labels []attribute.KeyValue
}

func (w *agentObserver) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn == nil
}

// Observe is called on the agent's goroutine.
func (w *agentObserver) Observe(session string, e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = session
	now := w.t.clock()
	switch e := e.(type) {
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		w.firstChunk(now)
	case event.TurnStarted:
		w.close(now, "unfinished", nil)
		w.open(now, e.Turn)
	case event.TurnFinished:
		w.open(now, e.Turn)
		w.close(now, string(e.Reason), e.Err)
	case event.ModelStarted:
		w.open(now, "")
		w.modelStarted(now, e)
	case event.ModelFinished:
		w.modelFinished(now, e)
	case event.UsageUpdated:
		w.recordCost(now, e)
	case event.DecisionMade:
		w.decision(e.Decision)
	case event.ToolStarted:
		w.open(now, "")
		w.toolStarted(now, e)
	case event.ToolFinished:
		w.toolFinished(now, e)
	case event.ApprovalAsked:
		w.open(now, "")
		w.asked(now, e)
	case event.ApprovalResolved:
		w.answered(now, e)
	case event.HookRan:
		w.hooks(now, e.Ran)
	}
}

// spanContext returns the context for spans of a tool use; it returns nil if no span is
// open.
func (w *agentObserver) spanContext(use string) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.tools[use] != nil:
		return w.tools[use].ctx
	case w.turn != nil:
		return w.turn.ctx
	}
	return w.caller.ctx
}

// start starts a span in the turn, or in the parent of all turns.
func (w *agentObserver) start(name string, kind trace.SpanKind, at time.Time, labels, more []attribute.KeyValue) *span {
	parent := w.t.parent
	switch {
	case w.turn != nil:
		parent = w.turn.ctx
	case w.caller.ctx != nil:
		parent = w.caller.ctx
	}
	attrs := append(append([]attribute.KeyValue(nil), labels...), more...)
	if w.session != "" {
		attrs = append(attrs, attribute.String(attrConversation, w.session))
	}
	if w.name != "" {
		attrs = append(attrs, attribute.String(attrAgent, w.name))
	}
	ctx, s := w.t.tracer.Start(parent, name, trace.WithTimestamp(at), trace.WithSpanKind(kind), trace.WithAttributes(attrs...)) //nolint:spancheck // the caller ends the span
	return &span{Span: s, ctx: ctx, began: at, labels: labels}                                                                  //nolint:spancheck // the caller ends the span
}

// fail marks a span and its metric as failed, with the type of the error. The text of the error is
// left out, because it may quote a prompt or a file.
func (s *span) fail(kind string) {
	if kind == "" {
		return
	}
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String(attrError, kind))
	s.labels = append(s.labels, attribute.String(attrError, kind))
}

// end ends the span and records its duration.
func (s *span) end(at time.Time, h metric.Float64Histogram) {
	if at.Before(s.began) {
		at = s.began
	}
	s.End(trace.WithTimestamp(at))
	h.Record(context.Background(), at.Sub(s.began).Seconds(), metric.WithAttributes(s.labels...))
}

// open opens a turn's span unless it is open. A resumed turn was started earlier.
func (w *agentObserver) open(now time.Time, turn string) {
	if w.turn != nil {
		return
	}
	w.current = turnTotals{id: turn}
	w.tools, w.waits, w.decided = map[string]*span{}, map[string]*span{}, map[string]policy.Decision{}
	name := spanAgent
	if w.name != "" {
		name += " " + w.name
	}
	w.turn = w.start(name, trace.SpanKindInternal, now, []attribute.KeyValue{attribute.String(attrOperation, spanAgent)}, nil)
	w.t.instruments.active.Add(context.Background(), 1)
}

// close ends the turn's span and all open spans in it.
func (w *agentObserver) close(now time.Time, reason string, err error) {
	if w.turn == nil {
		return
	}
	if w.chat != nil {
		w.chat.fail(reason)
		w.chat.end(now, w.t.instruments.operation)
	}
	for _, s := range w.tools {
		s.fail(reason)
		s.end(now, w.t.instruments.tool)
	}
	for _, s := range w.waits {
		w.stopWaiting(now, s, reason)
	}
	w.turn.SetAttributes(w.totals(reason)...)
	switch event.Reason(reason) {
	case event.ReasonFailed:
		w.turn.fail(errorType(err))
	case event.ReasonRefused:
		w.turn.fail(reason)
	}
	w.turn.end(now, w.t.instruments.agent)
	w.t.instruments.active.Add(context.Background(), -1)
	w.t.instruments.turns.Add(context.Background(), 1, metric.WithAttributes(attribute.String(attrReason, reason)))
	w.turn, w.chat, w.tools, w.waits, w.decided = nil, nil, nil, nil, nil
}

// totals returns the attributes that are only known when a turn ends.
func (w *agentObserver) totals(reason string) []attribute.KeyValue {
	r := &w.current
	attrs := append(usageAttributes(r.usage), attribute.String(attrReason, reason))
	if r.id != "" {
		attrs = append(attrs, attribute.String(attrTurn, r.id))
	}
	if r.model != "" {
		attrs = append(attrs, attribute.String(attrProvider, r.provider), attribute.String(attrModel, r.model))
	}
	if r.cost > 0 {
		attrs = append(attrs, attribute.Float64(attrCost, r.cost))
	}
	return attrs
}

// abandon ends those open spans whose end will not be reported.
func (w *agentObserver) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(w.t.clock(), "unfinished", nil)
}
