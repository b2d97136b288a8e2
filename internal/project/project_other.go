//go:build !unix

package project

import "os"

// handOver does nothing: users have no numbers here.
func handOver(*os.File, string) {}
