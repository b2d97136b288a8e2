//go:build !unix

package workspace

import "os"

// syncFolder does nothing on systems that cannot sync folders.
func syncFolder(*os.Root) error { return nil }
