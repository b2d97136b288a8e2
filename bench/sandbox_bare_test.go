//go:build linux

package main

import (
	"testing"

	"github.com/holdfast-dev/holdfast/bench/spawn"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// The control works in each of its modes, and fails if one of its system calls fails.
func TestBare(t *testing.T) {
	if err := kernel.Namespaces(); err != nil {
		t.Skip("the kernel refuses namespaces:", err)
	}
	t.Chdir("..") // as the bench runs
	folder := t.TempDir()
	s := &sandboxBench{bench: &bench{dir: t.TempDir()}, processes: map[string]*spawn.Client{}}
	defer s.stop()
	if err := s.addBare(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.runners {
		if r.absent != "" {
			t.Skip(r.absent)
		}
		r.ask.Times = 2
		answer, err := s.processes[r.build].Block(&r.ask)
		if err != nil || len(answer.Took) != 2 || answer.Took[0] <= 0 || answer.Wall < answer.Took[0] {
			t.Errorf("%s: %+v, %v", r.name, answer, err)
		}
	}
}
