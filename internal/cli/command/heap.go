package command

import (
	"runtime/debug"

	"github.com/holdfast-dev/holdfast/internal/heap"
)

// StartupGCPercent is the garbage collector's percentage until the model has answered for the
// second time. A session's transcript is allocated once and kept. Collecting repeatedly while the
// heap grows would take a large part of a long resume, and even one collection is a noticeable part
// of a short run.
const StartupGCPercent = 400

// ReserveHeap prepares the heap for a session with payloads of the given size in bytes. The index, the
// other records and the request that is built from them make the heap up to three times as large.
// Reading the payloads creates no garbage, so the collector does not run until the heap has grown
// by about twice their size.
func ReserveHeap(bytes int64) {
	const small, large = 4 << 20, 64 << 20
	if bytes < small {
		return
	}
	heap.Expect(3 * bytes)
	debug.SetGCPercent(StartupGCPercent + int(2*min(bytes, large)*100/small))
}
