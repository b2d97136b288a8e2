package heap

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Expect is told of n bytes that are about to be allocated and to stay. It collects garbage
// once, so it is for a heap that is small yet. Memory that was expected and is not used is
// not taken from the system.
func Expect(n int64) {
	if n < least {
		return
	}
	usual := debug.SetGCPercent(-1) // or the room would be collected around, and then collected
	defer debug.SetGCPercent(usual)
	ask(make([]byte, min(n, most)))
	runtime.GC() // the room is free now, the first that is given out
}

// ask asks for large pages. A kernel without them gives small ones. The room is not written.
func ask(room []byte) { _ = unix.Madvise(room, unix.MADV_HUGEPAGE) }
