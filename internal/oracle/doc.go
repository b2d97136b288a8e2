// Package oracle compares our own encoders with the official libraries that they stand
// in for: OpenTelemetry's exporters and Prometheus' client, minio-go, and the signatures of
// AWS's SDK. It is a module of its own and has tests only, so that nobody who uses the
// library downloads those libraries.
package oracle
