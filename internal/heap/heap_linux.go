package heap

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Expect prepares the heap for n bytes that are about to be allocated and kept. It runs one garbage
// collection, so call it while the heap is small. Expected memory that is not used is not taken from the
// system.
func Expect(n int64) {
	if n < minExpected {
		return
	}
	usual := debug.SetGCPercent(-1) // otherwise the collection would remove it
	defer debug.SetGCPercent(usual)
	requestLargePages(make([]byte, min(n, maxExpected)))
	runtime.GC() // the memory is free now, and is allocated first
}

// requestLargePages requests large pages. A kernel without them provides small ones. The memory is not written.
func requestLargePages(block []byte) { _ = unix.Madvise(block, unix.MADV_HUGEPAGE) }
