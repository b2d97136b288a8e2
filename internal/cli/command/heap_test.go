package command

import (
	"runtime/debug"
	"testing"
)

// The garbage collector's threshold allows for the memory of a long session, but not more than that of a very
// long one.
func TestReserveHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(StartupGCPercent))
	for _, c := range []struct {
		bytes int64
		want  int
	}{{0, StartupGCPercent}, {4<<20 - 1, StartupGCPercent}, {4 << 20, StartupGCPercent + 200}, {64 << 20, StartupGCPercent + 3200}, {1 << 40, StartupGCPercent + 3200}} {
		ReserveHeap(c.bytes)
		if got := debug.SetGCPercent(StartupGCPercent); got != c.want {
			t.Errorf("%d bytes: %d %%, want %d", c.bytes, got, c.want)
		}
	}
}
