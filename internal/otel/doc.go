// Package otel tells OpenTelemetry what an agent does: spans and metrics by the
// conventions for generative AI, and a span of its own for waiting on a person.
//
//	agent ── events ─► Observer ─┬─► spans: invoke_agent > chat, execute_tool, wait_for_person
//	                             └─► metrics: tokens, durations, decisions ─► OTLP, or a /metrics page
//
// It is off unless the environment says OTEL_*. Only who imports this package pays
// for its libraries.
package otel
