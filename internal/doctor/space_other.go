//go:build !linux

package doctor

// freeSpace is implemented only for Linux.
func freeSpace(string) (int64, bool) { return 0, false }
