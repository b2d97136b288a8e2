//go:build !linux

package sqlite

// vfsName is the VFS that connections are opened with: SQLite's own.
func vfsName() (string, error) { return "", nil }
