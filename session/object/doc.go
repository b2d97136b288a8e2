// Package object keeps sessions in a bucket of any server with Amazon's S3 API and
// conditional writes.
package object
