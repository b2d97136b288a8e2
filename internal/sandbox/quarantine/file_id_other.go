//go:build !unix

package quarantine

import "io/fs"

// sysID returns only the file's name. That is sufficient, because without a kernel sandbox no file
// is moved to quarantine.
func sysID(info fs.FileInfo) string { return info.Name() }
