// Package oracle compares encoders and clients of the project with the official libraries that they replace:
// OpenTelemetry's exporters, Prometheus' client, minio-go, go-redis, the signatures of AWS's SDK, and Docker's
// client. It is a separate module with tests only, so that users of the library do not download those
// libraries.
package oracle
