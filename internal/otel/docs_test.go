package otel_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/record"
)

type table map[string]map[string]bool // of a span, an event or a metric: its attributes

func (m table) add(name string, list []attribute.KeyValue) {
	name, _, _ = strings.Cut(name, " ")
	if m[name] == nil {
		m[name] = map[string]bool{}
	}
	for _, a := range list {
		m[name][string(a.Key)] = true
	}
}

func (m table) lines() []string {
	var out []string
	for name, attrs := range m {
		out = append(out, name+": "+strings.Join(slices.Sorted(maps.Keys(attrs)), " "))
	}
	slices.Sort(out)
	return out
}

// documented reads the tables of a section of the documentation.
func documented(t *testing.T, section string) table {
	t.Helper()
	b, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	code := regexp.MustCompile("`([^`]+)`")
	out := table{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		name := code.FindStringSubmatch(cells[1])[1]
		out[name] = map[string]bool{}
		for _, a := range code.FindAllStringSubmatch(cells[len(cells)-2], -1) {
			out[name][a[1]] = true
		}
	}
	return out
}

// The documentation lists exactly the attributes that are sent.
func TestDocumentation(t *testing.T) {
	spans, data := runObserved(t)
	spans = append(spans, runSubagent(t)...)
	sent := table{}
	for _, s := range spans {
		sent.add(s.Name, s.Attributes)
		for _, e := range s.Events {
			sent.add(e.Name, e.Attributes)
		}
	}
	if a, b := sent.lines(), documented(t, "Spans").lines(); !slices.Equal(a, b) {
		t.Errorf("spans\nsent\n%s\ndocumented\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	sent = table{}
	for name, sets := range samples(data) {
		for _, s := range sets {
			sent.add(name, s.ToSlice())
		}
	}
	if a, b := sent.lines(), documented(t, "Metrics").lines(); !slices.Equal(a, b) {
		t.Errorf("metrics\nsent\n%s\ndocumented\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// runSubagent runs a sub-agent so that its name appears in all places, and a command hook.
func runSubagent(t *testing.T) tracetest.SpanStubs {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	tel, err := otel.New(t.Context(), &otel.Options{Spans: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}})
	if err != nil {
		t.Fatal(err)
	}
	w := tel.Agent("tests")
	run(t, w)
	exit := 2
	w.Observe("s-1", event.HookRan{Ran: record.HookRan{Event: string(hook.PostToolUse), Hooks: []record.HookRun{
		{Name: "echo " + secretWord, Type: "command", Source: "settings.json:3", Exit: &exit, Millis: 20, Effect: "block"},
		{Name: "two", Type: "command", Millis: 30},
	}}})
	w.Observe("s-1", event.UsageUpdated{Model: "play", Provider: "scripted", Purpose: "aside"})
	list := spans.GetSpans()
	one, two := find(t, list, "hook PostToolUse", "holdfast.hook.effect", "block"), find(t, list, "hook PostToolUse", "holdfast.hook.effect", "none")
	if one.EndTime != two.StartTime || one.EndTime.Sub(one.StartTime).Milliseconds() != 20 {
		t.Errorf("hooks that run in order: %v to %v, %v to %v", one.StartTime, one.EndTime, two.StartTime, two.EndTime)
	}
	return list
}
