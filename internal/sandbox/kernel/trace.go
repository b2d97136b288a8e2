//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// trace says what the processes of a command have done so far: how often each thread was given a
// processor, and for how long. When it is the same twice, none of them ran meanwhile. It is "" when
// that cannot be known, and when one of them runs.
func (p *Process) trace() string {
	if p.jail.weaker { // its processes may leave it
		return ""
	}
	var b strings.Builder
	if !traceOf(&b, fmt.Sprint(p.pid), 0) {
		return ""
	}
	return b.String()
}

// traceOf adds a process and those below it.
func traceOf(b *strings.Builder, pid string, depth int) bool {
	tasks, err := os.ReadDir("/proc/" + pid + "/task")
	if err != nil || depth > 64 {
		return false
	}
	for _, t := range tasks {
		dir := "/proc/" + pid + "/task/" + t.Name()
		used, err := os.ReadFile(dir + "/schedstat")
		if err != nil || len(used) == 0 {
			return false
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if strings.HasPrefix(rest, "R") {
			return false
		}
		fmt.Fprintf(b, "%s %s", t.Name(), used)
		below, err := os.ReadFile(dir + "/children")
		if err != nil {
			return false
		}
		for child := range strings.FieldsSeq(string(below)) {
			if !traceOf(b, child, depth+1) {
				return false
			}
		}
	}
	return true
}

func nativeUint32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
