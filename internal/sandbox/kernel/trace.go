//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// trace returns how often each thread of a command was scheduled, and for how long. Two equal traces mean
// that no thread ran between them. It returns "" if that cannot be determined, or if a thread is running.
func (p *Process) trace() string {
	if p.jail.weaker { // not all of its processes are known
		return ""
	}
	var b strings.Builder
	if !traceOf(&b, fmt.Sprint(p.pid), 0) {
		return ""
	}
	return b.String()
}

// traceOf adds a process and its descendants.
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
		_, settle, _ := strings.Cut(string(stat), ") ")
		if strings.HasPrefix(settle, "R") {
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
