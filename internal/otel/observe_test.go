package otel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// secretWord is in the prompt, the answers, the inputs and the results of the script. Telemetry
// must not contain it.
const secretWord = "tarragon"

const fullPlay = `
name: play
price: {input: 3, output: 15}
steps:
  - error: {kind: rate_limit, times: 1}
    thinking: tarragon
    text: I look for tarragon.
    usage: {input: 100, output: 10, cache_read: 50, cache_write: 5, reasoning: 4}
    tool_uses:
      - {id: look, tool: Look, input: {what: tarragon}}
      - {id: write, tool: Write, input: {what: tarragon}}
      - {id: shred, tool: Shred, input: {what: tarragon}}
      - {id: break, tool: Break, input: {what: tarragon}}
  - text: The end of tarragon.
    usage: {input: 200, output: 20}
  - error: {kind: auth, message: no tarragon}
`

type what struct {
	What string `json:"what"`
}

func tools(t testing.TB) *tool.Registry {
	t.Helper()
	one := func(name string, readOnly bool, result tool.Result, err error) tool.Tool {
		made, e := tool.New(tool.Spec{Name: name, Description: name, ReadOnly: readOnly},
			func(context.Context, *tool.Call, what) (tool.Result, error) { return result, err }, nil)
		if e != nil {
			t.Fatal(e)
		}
		return made
	}
	code := 3
	r, err := tool.NewRegistry(
		one("Look", true, tool.Text(secretWord), nil), one("Write", false, tool.Text("done"), nil),
		one("Shred", false, tool.Text("gone"), nil),
		one("Break", true, tool.Result{Content: []transcript.Part{transcript.Text{Text: secretWord}}, IsError: true, ExitCode: &code}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func play(t testing.TB, text string) model.Model {
	t.Helper()
	m, err := scripted.New([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// noShred denies one tool.
type noShred struct{}

func (noShred) Evaluate(r policy.Request) policy.Verdict {
	if r.Tool == "Shred" {
		return policy.Verdict{Effect: policy.Deny, Reason: "no " + secretWord}
	}
	return policy.Verdict{}
}

// run has an agent do everything that telemetry reports: a retried call, tools that run, fail, need
// approval and are denied, hooks, and a turn that fails.
func run(t testing.TB, seen ...agent.LoopObserver) {
	t.Helper()
	hooks := hook.New(nil)
	for e, f := range map[hook.Event]func(context.Context, hook.Input) (*hook.Output, error){
		hook.PreToolUse: func(context.Context, hook.Input) (*hook.Output, error) {
			return &hook.Output{SystemMessage: secretWord}, nil
		},
		hook.PostToolUseFailure: func(context.Context, hook.Input) (*hook.Output, error) { return nil, errors.New(secretWord) },
		hook.Stop:               func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil },
	} {
		if err := hooks.HandleFunc(e, "", f); err != nil {
			t.Fatal(err)
		}
	}
	a, err := agent.New(play(t, fullPlay), &agent.Options{
		Sessions: session.New(memory.New(), nil), Session: session.RestoreOptions{SessionID: "s-1"},
		Tools: tools(t), Hooks: agent.Hooks{Registry: hooks}, LoopObservers: seen,
		Permissions: agent.Permissions{
			Config: policy.Config{Policies: []policy.NamedPolicy{{Name: "no-shred", Policy: noShred{}}}},
			Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
				return approval.Answer{RequestID: q.ID, Decision: approval.Allow, Actor: "ann of " + secretWord, Via: "terminal"}, nil
			},
		},
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	for _, want := range []event.Reason{event.ReasonCompleted, event.ReasonFailed} {
		res, err := a.Prompt(t.Context(), "find "+secretWord)
		if err != nil || res.Reason != want {
			t.Fatalf("%+v, %v", res, err)
		}
	}
}

// runObserved runs the agent and returns its spans and metrics.
func runObserved(t testing.TB) (tracetest.SpanStubs, metricdata.ResourceMetrics) {
	t.Helper()
	spans, numbers := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	tel, err := otel.New(t.Context(), &otel.Options{
		Version: "1.2.3", Spans: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}, Metrics: []sdkmetric.Reader{numbers},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, tel)
	var data metricdata.ResourceMetrics
	if err := numbers.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	list := spans.GetSpans()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	return list, data
}

func attrs(list []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

func find(t testing.TB, spans tracetest.SpanStubs, name, key, value string) tracetest.SpanStub {
	t.Helper()
	for _, s := range spans {
		if s.Name == name && (key == "" || attrs(s.Attributes)[key] == value) {
			return s
		}
	}
	t.Fatalf("no span %q with %s=%q", name, key, value)
	return tracetest.SpanStub{}
}

func TestSpans(t *testing.T) {
	spans, _ := runObserved(t)
	turn := find(t, spans, "invoke_agent", "holdfast.turn.id", "turn-1")
	for _, tt := range []struct {
		name, key, value string
		kind             trace.SpanKind
		failed           bool
		want             map[string]string
	}{
		{"invoke_agent", "holdfast.turn.id", "turn-1", trace.SpanKindInternal, false, map[string]string{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-1", "gen_ai.provider.name": "scripted",
			"gen_ai.request.model": "play", "gen_ai.usage.input_tokens": "355", "gen_ai.usage.output_tokens": "30", "holdfast.turn.reason": "completed",
		}},
		{"invoke_agent", "holdfast.turn.id", "turn-2", trace.SpanKindInternal, true, map[string]string{"error.type": "auth", "holdfast.turn.reason": "failed"}},
		{"chat play", "error.type", "rate_limit", trace.SpanKindClient, true, map[string]string{"gen_ai.request.stream": "true"}},
		{"chat play", "holdfast.attempt", "1", trace.SpanKindClient, false, map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "play", "gen_ai.conversation.id": "s-1",
			"gen_ai.usage.input_tokens": "155", "gen_ai.usage.output_tokens": "10", "gen_ai.usage.cache_read.input_tokens": "50",
			"gen_ai.usage.cache_creation.input_tokens": "5", "gen_ai.usage.reasoning.output_tokens": "4", "gen_ai.response.finish_reasons": `["tool_use"]`,
		}},
		{"execute_tool Look", "", "", trace.SpanKindInternal, false, map[string]string{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Look", "gen_ai.tool.call.id": "look", "gen_ai.tool.type": "function",
			"holdfast.decision.effect": "allow",
		}},
		{"execute_tool Write", "", "", trace.SpanKindInternal, false, map[string]string{"holdfast.decision.by": "person", "holdfast.decision.mode": "default"}},
		{"execute_tool Break", "", "", trace.SpanKindInternal, true, map[string]string{"error.type": "tool_error", "process.exit.code": "3"}},
		{"wait_for_person", "", "", trace.SpanKindInternal, false, map[string]string{
			"gen_ai.tool.name": "Write", "gen_ai.tool.call.id": "write", "holdfast.approval.decision": "allow", "holdfast.approval.by": "person", "holdfast.approval.via": "terminal",
		}},
		{"hook PreToolUse", "gen_ai.tool.call.id", "look", trace.SpanKindInternal, false, map[string]string{
			"holdfast.hook.event": "PreToolUse", "holdfast.hook.type": "function", "gen_ai.tool.name": "Look",
		}},
		{"hook PostToolUseFailure", "", "", trace.SpanKindInternal, true, map[string]string{"error.type": "hook_error"}},
	} {
		t.Run(tt.name+" "+tt.value, func(t *testing.T) {
			s := find(t, spans, tt.name, tt.key, tt.value)
			got := attrs(s.Attributes)
			for k, v := range tt.want {
				if got[k] != v {
					t.Errorf("%s is %q, want %q", k, got[k], v)
				}
			}
			if s.SpanKind != tt.kind || (s.Status.Code == codes.Error) != tt.failed || s.EndTime.Before(s.StartTime) {
				t.Errorf("kind %v, status %v, %v to %v", s.SpanKind, s.Status, s.StartTime, s.EndTime)
			}
			if tt.name != "invoke_agent" && s.Parent.SpanID() != turn.SpanContext.SpanID() {
				t.Errorf("it is not a child of the turn")
			}
		})
	}
	for _, s := range spans {
		if s.Name == "execute_tool Shred" {
			t.Error("a denied call has a span")
		}
	}
	if len(turn.Events) != 1 || turn.Events[0].Name != "holdfast.denied" || attrs(turn.Events[0].Attributes)["holdfast.decision.by"] != "policy" {
		t.Errorf("events %+v", turn.Events)
	}
}

// No text of a model, a user or a tool leaves the machine.
func TestNoContent(t *testing.T) {
	spans, data := runObserved(t)
	look := func(where string, list []attribute.KeyValue) {
		for _, a := range list {
			if strings.Contains(a.Value.String(), secretWord) {
				t.Errorf("%s: %s=%s", where, a.Key, a.Value.String())
			}
		}
	}
	for _, s := range spans {
		look(s.Name, s.Attributes)
		for _, e := range s.Events {
			look(s.Name+" "+e.Name, e.Attributes)
		}
		if strings.Contains(s.Name+s.Status.Description, secretWord) {
			t.Errorf("span %q: %q", s.Name, s.Status.Description)
		}
	}
	for name, points := range samples(data) {
		for _, p := range points {
			look(name, p.ToSlice())
		}
	}
}

// samples returns the label sets of each metric.
func samples(data metricdata.ResourceMetrics) map[string][]attribute.Set {
	out := map[string][]attribute.Set{}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[m.Name] = append(out[m.Name], p.Attributes)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					out[m.Name] = append(out[m.Name], p.Attributes)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					out[m.Name] = append(out[m.Name], p.Attributes)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[m.Name] = append(out[m.Name], p.Attributes)
				}
			}
		}
	}
	return out
}

// A turn without an end, a session that continues after one, and concurrent agents.
func TestUnfinished(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tel, err := otel.New(t.Context(), &otel.Options{Spans: []sdktrace.SpanProcessor{keepSpans{spans}}})
	if err != nil {
		t.Fatal(err)
	}
	sub := tel.Agent("tests")
	sub.Observe("", event.TurnStarted{Turn: "t"})
	sub.Observe("", event.ModelStarted{Provider: "p", Model: "m"})
	tel.Observe("s", event.ToolFinished{Use: "never started"})
	tel.Observe("s", event.ModelFinished{})
	tel.Observe("s", event.ApprovalResolved{ID: "never asked"})
	tel.Observe("s", event.ToolStarted{Use: "u", Tool: "T"})
	tel.Observe("s", event.ApprovalAsked{Request: approval.Request{ID: "q"}})
	tel.Observe("s", event.TurnStarted{Turn: "next"})
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range spans.GetSpans() {
		a := attrs(s.Attributes)
		names = append(names, s.Name+" "+a["holdfast.turn.id"]+a["holdfast.turn.reason"]+a["error.type"]+a["holdfast.approval.decision"])
	}
	slices.Sort(names)
	want := []string{
		"chat m unfinished", "execute_tool T unfinished", "invoke_agent nextunfinished", "invoke_agent tests tunfinished",
		"invoke_agent unfinished", "wait_for_person unfinished",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	tel.Observe("s", event.TurnStarted{Turn: "too late"}) // ignored
}

// keepSpans keeps its spans after shutdown.
type keepSpans struct{ *tracetest.InMemoryExporter }

func (keepSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (k keepSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	_ = k.ExportSpans(context.Background(), []sdktrace.ReadOnlySpan{s})
}
func (keepSpans) ForceFlush(context.Context) error { return nil }
func (keepSpans) Shutdown(context.Context) error   { return nil }

// The parent of the spans is the span in the context or in the environment.
func TestParent(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	tid, _ := trace.TraceIDFromHex(id)
	sid, _ := trace.SpanIDFromHex("b7ad6b7169203331")
	carried := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: tid, SpanID: sid, TraceFlags: trace.FlagsSampled}))
	env := map[string]string{"TRACEPARENT": "00-" + id + "-b7ad6b7169203331-01"}
	for name, tt := range map[string]struct {
		ctx context.Context
		env map[string]string
	}{"context": {carried, nil}, "environment": {t.Context(), env}} {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			tel, err := otel.New(tt.ctx, &otel.Options{
				Env: func(n string) string { return tt.env[n] }, Spans: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)},
			})
			if err != nil {
				t.Fatal(err)
			}
			tel.Observe("s", event.TurnStarted{Turn: "t"})
			tel.Observe("s", event.TurnFinished{Turn: "t", Reason: event.ReasonCompleted})
			if got := spans.GetSpans(); len(got) != 1 || got[0].SpanContext.TraceID().String() != id {
				t.Errorf("spans %+v", got)
			}
		})
	}
}
