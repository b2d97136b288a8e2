// Package otel exports spans and metrics of agents to OpenTelemetry. They follow the conventions
// for generative AI. Waiting for an approval has a span, too.
//
//	agent ── events ─► Observer ─┬─► spans: invoke_agent > chat, execute_tool, wait_for_person
//	                             └─► metrics: tokens, durations, decisions ─► OTLP, or a /metrics page
//
//	t, err := otel.New(ctx, &otel.Options{Env: os.Getenv})
//	defer t.Shutdown(ctx)
//
// It sends nothing unless OTEL_* variables are set in the environment. Its libraries are only part
// of programs that import this package.
package otel
