//go:build !unix

package quarantine

import "io/fs"

// sysID is the name alone: without a kernel sandbox nothing is moved.
func sysID(info fs.FileInfo) string { return info.Name() }
