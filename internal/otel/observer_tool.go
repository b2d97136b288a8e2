package otel

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

func (w *agentObserver) decision(d policy.Decision) {
	attrs := []attribute.KeyValue{attribute.String(attrEffect, string(d.Effect)), attribute.String(attrDecider, decider(&d))}
	w.t.instruments.decisions.Add(context.Background(), 1, metric.WithAttributes(attrs...))
	switch {
	case w.turn == nil:
	case d.Effect == policy.Deny:
		attrs = append(attrs, attribute.String(attrTool, d.Tool), attribute.String(attrToolCall, d.Use), attribute.String(attrMode, string(d.Mode)))
		w.turn.AddEvent(eventDenied, trace.WithTimestamp(w.t.clock()), trace.WithAttributes(attrs...))
	default:
		w.decided[d.Use] = d
	}
}

// decider returns the kind of decider: one of the few values that the documentation lists.
func decider(d *policy.Decision) string {
	kind, _, _ := strings.Cut(d.By, " ")
	switch {
	case kind == "mode" || kind == "hook" || kind == "sandbox":
		return kind
	case d.By == "rules":
		return "rule"
	case d.By == "grants":
		return "grant"
	case d.By == "canUseTool":
		return "callback"
	case record.ByNobody(d.By):
		return "nobody"
	case d.By == "" || record.ByProgram(d.By):
		return "program"
	case d.PersonAsked:
		return "person"
	}
	return "policy"
}

func (w *agentObserver) toolStarted(now time.Time, e event.ToolStarted) {
	more := []attribute.KeyValue{attribute.String(attrToolCall, e.Use)}
	if d, ok := w.decided[e.Use]; ok {
		more = append(more, attribute.String(attrEffect, string(d.Effect)), attribute.String(attrDecider, decider(&d)), attribute.String(attrMode, string(d.Mode)))
	}
	w.tools[e.Use] = w.start(spanTool+" "+e.Tool, trace.SpanKindInternal, now, []attribute.KeyValue{
		attribute.String(attrOperation, spanTool),
		attribute.String(attrTool, e.Tool),
		attribute.String(attrToolType, "function"),
	}, more)
}

// toolFinished ends the span at the time when the tool ended. At that time, the result of the tool
// was not stored, and other calls of the round may not have ended.
func (w *agentObserver) toolFinished(now time.Time, e event.ToolFinished) {
	s := w.tools[e.Use]
	if s == nil {
		return
	}
	delete(w.tools, e.Use)
	if e.ExitCode != nil {
		s.SetAttributes(attribute.Int(attrExit, *e.ExitCode))
	}
	if e.IsError {
		s.fail("tool_error")
	}
	if ended := s.began.Add(e.Duration()); e.Millis > 0 && ended.Before(now) {
		now = ended
	}
	s.end(now, w.t.instruments.tool)
}

func (w *agentObserver) asked(now time.Time, e event.ApprovalAsked) {
	q := &e.Request
	if w.waits[q.ID] != nil {
		return
	}
	w.waits[q.ID] = w.start(spanPerson, trace.SpanKindInternal, now, nil, []attribute.KeyValue{
		attribute.String(attrTool, q.Tool), attribute.String(attrToolCall, q.Use),
		attribute.String(attrQuestion, q.ID), attribute.String(attrMode, string(q.Mode)),
	})
	w.t.instruments.pending.Add(context.Background(), 1)
}

func (w *agentObserver) answered(now time.Time, e event.ApprovalResolved) {
	s := w.waits[e.ID]
	if s == nil {
		return
	}
	delete(w.waits, e.ID)
	s.SetAttributes(attribute.String(attrBy, answererKind(e.Answer)))
	if e.Answer.Via != "" {
		s.SetAttributes(attribute.String(attrVia, e.Answer.Via))
	}
	w.stopWaiting(now, s, string(e.Answer.Decision))
}

// answererKind returns "person" if a person answered, otherwise the reason why no person did.
func answererKind(a approval.Answer) string {
	return decider(&policy.Decision{By: a.Actor, PersonAsked: true})
}

func (w *agentObserver) stopWaiting(now time.Time, s *span, answer string) {
	label := attribute.String(attrAnswer, answer)
	s.SetAttributes(label)
	s.labels = append(s.labels, label)
	s.end(now, w.t.instruments.wait)
	w.t.instruments.pending.Add(context.Background(), -1)
}

// hooks adds a span for each hook that ran. The hooks of an event that can rewrite its input run
// one after another; the hooks of other events run concurrently.
func (w *agentObserver) hooks(now time.Time, ran record.HookRan) {
	event := attribute.String(attrEvent, ran.Event)
	ended := now
	for _, r := range slices.Backward(ran.Hooks) {
		began := ended.Add(-time.Duration(r.Millis) * time.Millisecond)
		w.hook(began, ended, event, &ran, &r)
		if hook.Event(ran.Event).Rewrites() {
			ended = began
		}
	}
	if ran.Silent > 0 {
		w.t.instruments.hooks.Add(context.Background(), int64(ran.Silent), metric.WithAttributes(event, attribute.String(attrHookOutput, "none")))
	}
}

func (w *agentObserver) hook(began, ended time.Time, event attribute.KeyValue, ran *record.HookRan, r *record.HookRun) {
	effect := attribute.String(attrHookOutput, r.Effect)
	if r.Effect == "" {
		effect = attribute.String(attrHookOutput, "none")
	}
	more := []attribute.KeyValue{effect}
	for name, v := range map[string]string{attrSource: r.Source, attrTool: ran.Tool, attrToolCall: ran.Use} {
		if v != "" {
			more = append(more, attribute.String(name, v))
		}
	}
	if r.Exit != nil {
		more = append(more, attribute.Int(attrExit, *r.Exit))
	}
	s := w.start(spanHook+" "+string(ran.Event), trace.SpanKindInternal, began, []attribute.KeyValue{event, attribute.String(attrHookType, r.Type)}, more)
	if r.Error != "" {
		s.fail("hook_error")
	}
	s.end(ended, w.t.instruments.hookTime)
	w.t.instruments.hooks.Add(context.Background(), 1, metric.WithAttributes(event, effect))
}
