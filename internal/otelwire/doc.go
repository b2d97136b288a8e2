// Package otelwire encodes and sends the data that OpenTelemetry's SDK has collected: spans and
// metrics as OTLP over HTTP, and metrics in Prometheus' text format.
//
//	spans   ─► EncodeSpans   ─┐
//	metrics ─► EncodeMetrics ─┴─► Poster.Post ─► collector
//	        └► Page ─► GET /metrics
//
// The official exporters do the same but link gRPC, the protobuf runtime and html/template;
// docs/decisions/0024 has the measurements. internal/oracle compares this package with them.
package otelwire
