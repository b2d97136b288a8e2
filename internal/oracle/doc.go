// Package oracle compares our own encoders and clients with the official libraries that
// they stand in for: OpenTelemetry's exporters, Prometheus' client, minio-go, go-redis, the
// signatures of AWS's SDK, and Docker's client. It is a module of its own and has tests
// only, so that nobody who uses the library downloads those libraries.
package oracle
