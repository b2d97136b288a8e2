//go:build !unix

package project

import "os"

// chownToParent does nothing: this system has no numeric user ids.
func chownToParent(*os.File, string) {}
