//go:build !linux

package doctor

// freeSpace is told on Linux only.
func freeSpace(string) (int64, bool) { return 0, false }
