// Package otelwire encodes what OpenTelemetry's SDK has collected, and sends it: spans
// and metrics as OTLP over HTTP, metrics also as Prometheus' text format.
//
//	spans   ─► EncodeSpans   ─┐
//	metrics ─► EncodeMetrics ─┴─► Poster.Post ─► collector
//	        └► Page ─► GET /metrics
//
// The official exporters do the same and link gRPC, the protobuf runtime and
// html/template; docs/decisions/0024 has the measurements. internal/oracle compares
// this package with them.
package otelwire
