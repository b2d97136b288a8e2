//go:build linux

package cgroup

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// BenchmarkOpen measures what a sandbox needs once.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		g, err := Open(Limits{Memory: 64 << 20, Processes: 50, CPUs: 1})
		if errors.Is(err, ErrUnavailable) {
			testneed.Root(b, "making control groups")
			testneed.Need(b, "%v: run this where control groups may be written", err)
		}
		if err == nil {
			err = g.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
