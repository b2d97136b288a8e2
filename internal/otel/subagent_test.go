package otel_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
)

const subPlay = `
name: play
price: {input: 10, output: 100}
steps:
  - {when: {system: You count}, text: There are three., usage: {input: 1000, output: 10}}
  - when: {user: how many}
    usage: {input: 2000, output: 20}
    tool_uses: [{id: task, tool: Agent, input: {description: count, prompt: Count the files.}}, {id: ask, tool: Ask, input: {}}]
  - {when: {user: in short}, text: Short., usage: {input: 100, output: 1}}
  - {text: Three., usage: {input: 3000, output: 30}}
`

// A sub-agent's turn is a child of its tool use, and its tokens and cost are counted once. A model
// call of a tool is a separate call.
func TestSubagents(t *testing.T) {
	spans, numbers := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	tel, err := otel.New(t.Context(), &otel.Options{
		Spans: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}, Metrics: []sdkmetric.Reader{numbers},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := play(t, subPlay)
	ask, err := tool.New(tool.Spec{Name: "Ask", Description: "asks", ReadOnly: true}, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
		text, err := agent.FromContext(ctx).SideCall(ctx, m, "be short", "in short")
		return tool.Text(text), err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var registry *tool.Registry
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: []agent.Definition{{Name: "counter", Description: "Counts things.", Prompt: "You count."}},
		Tools: func(context.Context, agent.SubagentRequest) (agent.SubagentSetup, error) {
			return agent.SubagentSetup{Tools: registry, LoopObservers: []agent.LoopObserver{tel}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if registry, err = tool.NewRegistry(subs.Tool(), ask); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(m, &agent.Options{
		Sessions: session.New(memory.New(), nil), Tools: registry, Subagents: subs, LoopObservers: []agent.LoopObserver{tel},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	res, err := a.Prompt(t.Context(), "how many files are there?")
	if err != nil || res.Reason != event.ReasonCompleted {
		t.Fatalf("%+v, %v", res, err)
	}
	var data metricdata.ResourceMetrics
	if err := numbers.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	list := spans.GetSpans()
	child := find(t, list, "invoke_agent counter", "gen_ai.agent.name", "counter")
	use := find(t, list, "execute_tool Agent", "gen_ai.tool.call.id", "task")
	parent := find(t, list, "invoke_agent", "holdfast.turn.reason", "completed")
	if child.Parent.SpanID() != use.SpanContext.SpanID() || child.SpanContext.TraceID() != parent.SpanContext.TraceID() || use.Parent.SpanID() != parent.SpanContext.SpanID() {
		t.Error("the sub-agent's turn is not a child of its tool use")
	}
	inside := 0
	for _, s := range list {
		if s.Name == "chat play" && s.Parent.SpanID() == child.SpanContext.SpanID() {
			inside++
		}
	}
	if inside != 1 {
		t.Errorf("%d model calls are children of the sub-agent's turn", inside)
	}
	find(t, list, "chat play", "holdfast.call.for", "aside")
	var cost float64
	var tokens int64
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch v := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, p := range v.DataPoints {
					cost += p.Value
				}
			case metricdata.Histogram[int64]:
				for _, p := range v.DataPoints {
					tokens += p.Sum
				}
			}
		}
	}
	if diff := cost - res.CostUSD; diff > 1e-9 || diff < -1e-9 || res.CostUSD == 0 {
		t.Errorf("the metric says %v USD, the result %v", cost, res.CostUSD)
	}
	if tokens != res.Usage.Total() {
		t.Errorf("the metric says %d tokens, the result %d", tokens, res.Usage.Total())
	}
}

// A summary is a model call, too, also outside of a turn.
func TestSummaries(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tel, err := otel.New(t.Context(), &otel.Options{Spans: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(play(t, "name: play\nsteps: [{text: one}, {text: two}, {text: three}, {text: the summary}]"), &agent.Options{
		Sessions: session.New(memory.New(), nil), LoopObservers: []agent.LoopObserver{tel},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for range 3 {
		if _, err := a.Prompt(t.Context(), "say something"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := a.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	find(t, spans.GetSpans(), "chat play", "holdfast.call.for", "mutator")
}
