//go:build !unix

package workspace

import "os"

// syncFolder does nothing where folders cannot be brought to the disk.
func syncFolder(*os.Root) error { return nil }
