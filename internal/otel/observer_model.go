package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (w *agentObserver) modelStarted(now time.Time, e event.ModelStarted) {
	if w.chat != nil {
		w.chat.fail("unfinished")
		w.chat.end(now, w.t.instruments.operation)
	}
	w.current.provider, w.current.model = e.Provider, e.Model
	more := []attribute.KeyValue{attribute.Bool(attrStream, true)}
	if e.Attempt > 0 {
		more = append(more, attribute.Int(attrAttempt, e.Attempt))
	}
	w.chat = w.start(spanChat+" "+e.Model, trace.SpanKindClient, now, []attribute.KeyValue{
		attribute.String(attrOperation, spanChat),
		attribute.String(attrProvider, e.Provider),
		attribute.String(attrModel, e.Model),
	}, more)
	w.first = false
}

// firstChunk stores the time when an answer begins to arrive.
func (w *agentObserver) firstChunk(now time.Time) {
	if w.chat == nil || w.first {
		return
	}
	w.first = true
	seconds := now.Sub(w.chat.began).Seconds()
	w.chat.SetAttributes(attribute.Float64(attrFirstChunk, seconds))
	w.t.instruments.firstChunk.Record(context.Background(), seconds, metric.WithAttributes(w.chat.labels...))
}

func (w *agentObserver) modelFinished(now time.Time, e event.ModelFinished) {
	if w.chat == nil {
		return
	}
	s := w.chat
	w.chat = nil
	if e.Usage != nil {
		s.SetAttributes(usageAttributes(*e.Usage)...)
		w.current.usage = w.current.usage.Add(*e.Usage)
		w.recordTokens(s.labels, "input", inputTokens(*e.Usage))
		w.recordTokens(s.labels, "output", e.Usage.Output)
	}
	if e.Finish != "" {
		s.SetAttributes(attribute.StringSlice(attrFinish, []string{string(e.Finish)}))
	}
	if e.Err != nil {
		s.fail(errorType(e.Err))
	}
	s.end(now, w.t.instruments.operation)
}

func (w *agentObserver) recordTokens(labels []attribute.KeyValue, kind string, n int64) {
	set := append(append([]attribute.KeyValue(nil), labels...), attribute.String(attrTokenType, kind))
	w.t.instruments.tokens.Record(context.Background(), n, metric.WithAttributes(set...))
}

// recordCost records the cost of a call of this agent. Sub-agents report their own. Compaction can also
// run outside of a turn.
func (w *agentObserver) recordCost(now time.Time, e event.UsageUpdated) {
	if e.Purpose != "" {
		w.sideCall(now, e)
	}
	if e.CallUSD <= 0 {
		return
	}
	w.current.cost += e.CallUSD
	w.t.instruments.cost.Add(context.Background(), e.CallUSD, metric.WithAttributes(attribute.String(attrModel, e.Model)))
}

// sideCall adds a span for a model call that is not an answer of the agent. Such a call makes a
// summary, or was made by a tool.
func (w *agentObserver) sideCall(now time.Time, e event.UsageUpdated) {
	labels := []attribute.KeyValue{
		attribute.String(attrOperation, spanChat), attribute.String(attrProvider, e.Provider), attribute.String(attrModel, e.Model),
	}
	s := w.start(spanChat+" "+e.Model, trace.SpanKindClient, now.Add(-e.Duration), labels, append(usageAttributes(e.Usage), attribute.String(attrFor, e.Purpose)))
	w.current.usage = w.current.usage.Add(e.Usage)
	w.recordTokens(labels, "input", inputTokens(e.Usage))
	w.recordTokens(labels, "output", e.Usage.Output)
	s.end(now, w.t.instruments.operation)
}

// inputTokens returns the number of input tokens as the conventions define it: cached tokens are
// included.
func inputTokens(u transcript.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }

func usageAttributes(u transcript.Usage) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attribute.Int64(attrInput, inputTokens(u)), attribute.Int64(attrOutput, u.Output)}
	for _, more := range []struct {
		name string
		n    int64
	}{{attrCacheRead, u.CacheRead}, {attrCacheWrite, u.CacheWrite}, {attrReasoning, u.Reasoning}} {
		if more.n > 0 {
			attrs = append(attrs, attribute.Int64(more.name, more.n))
		}
	}
	return attrs
}

// errorType returns the class of an error: the kind of a model error, cancelled, timeout, or the
// value that the conventions have for other errors.
func errorType(err error) string {
	var me *model.Error
	switch {
	case errors.As(err, &me) && me.Kind != "":
		return string(me.Kind)
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "_OTHER"
}
