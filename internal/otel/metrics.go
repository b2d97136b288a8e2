package otel

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// These are the bucket limits of histograms. They are those of the conventions; for the time spent
// waiting for an approval they go up to a day.
var (
	tokenBounds = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	callBounds  = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	firstBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	turnBounds  = []float64{0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200}
	waitBounds  = []float64{1, 5, 15, 30, 60, 120, 300, 900, 3600, 14400, 86400}
)

// instruments are the OpenTelemetry instruments that record the metrics.
type instruments struct {
	tokens                                             metric.Int64Histogram
	operation, firstChunk, agent, tool, wait, hookTime metric.Float64Histogram
	turns, decisions, hooks                            metric.Int64Counter
	cost                                               metric.Float64Counter
	active, pending                                    metric.Int64UpDownCounter
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var all []error
	seconds := func(name, what string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
		all = append(all, err)
		return h
	}
	count := func(name, unit, what string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		all = append(all, err)
		return c
	}
	level := func(name, unit, what string) metric.Int64UpDownCounter {
		c, err := m.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		all = append(all, err)
		return c
	}
	tokens, err := m.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBounds...))
	all = append(all, err)
	cost, err := m.Float64Counter(metricCost, metric.WithUnit("{USD}"), metric.WithDescription("Cost of model calls, by list prices."))
	all = append(all, err)
	return &instruments{
		tokens: tokens, cost: cost,
		operation:  seconds(metricOperation, "GenAI operation duration.", callBounds),
		firstChunk: seconds(metricFirstChunk, "Time to receive the first chunk.", firstBounds),
		agent:      seconds(metricAgent, "Duration of a turn, from its input to its end.", turnBounds),
		tool:       seconds(metricTool, "Duration of a tool call, without the wait for approval.", callBounds),
		wait:       seconds(metricWait, "How long an approval waited for its answer.", waitBounds),
		hookTime:   seconds(metricHookTime, "Duration of a hook.", callBounds),
		turns:      count(metricTurns, "{turn}", "Turns that ended."),
		decisions:  count(metricDecisions, "{decision}", "Decisions about tool calls."),
		hooks:      count(metricHooks, "{hook}", "Hooks that ran."),
		active:     level(metricActive, "{session}", "Sessions whose turn is running."),
		pending:    level(metricPending, "{question}", "Pending approvals."),
	}, errors.Join(all...)
}
