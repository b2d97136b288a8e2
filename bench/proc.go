//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
)

// procStatus returns a field of /proc/PID/status in KiB, or 0 if it cannot be read.
func procStatus(pid, field string) int {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	return 0
}
