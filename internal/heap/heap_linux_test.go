package heap

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// inLargePages is how many KiB of this process lie in areas that have asked for large pages.
func inLargePages(t *testing.T) (asked, resident int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	size, rss := 0, 0
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		switch {
		case name == "Size":
			size, _ = strconv.Atoi(fields[0])
		case name == "Rss":
			rss, _ = strconv.Atoi(fields[0])
		case name == "VmFlags" && strings.Contains(rest, " hg"):
			asked, resident = asked+size, resident+rss
		}
	}
	return asked, resident
}

var kept [][]byte

func TestExpect(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no large pages:", err)
	}
	Expect(minExpected - 1)
	if asked, _ := inLargePages(t); asked != 0 {
		t.Errorf("%d KiB were asked for little", asked)
	}
	const n = 32 << 20
	Expect(n)
	asked, before := inLargePages(t)
	if asked < n>>10 || before > n>>12 {
		t.Fatalf("%d KiB in large pages, %d of them taken already", asked, before)
	}
	for range n / 2 >> 12 { // as much in small pieces lies there
		kept = append(kept, make([]byte, 4<<10))
		kept[len(kept)-1][0] = 1
	}
	_, after := inLargePages(t)
	if after-before < n>>12 {
		t.Errorf("of %d KiB that were allocated %d lie in the room", n>>11, after-before)
	}
	runtime.KeepAlive(kept)
	kept = nil
}
