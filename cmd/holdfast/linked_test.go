package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxSize is the most that the program may have, in bytes. The aim is 40 MB: the stores and protocols that are
// all linked make the difference.
const maxSize = 48_000_000

// The linker leaves out what nothing calls, as long as nothing looks up methods by names that are made at run
// time: one such call in any package keeps all exported methods of everything (it was 41 MB).
func TestLinked(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program, which takes some seconds")
	}
	file := filepath.Join(t.TempDir(), "holdfast")
	link := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w -dumpdep", "-o", file, ".")
	link.Env = append(os.Environ(), "CGO_ENABLED=0")
	told, err := link.StderrPipe()
	if err == nil {
		err = link.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	edges, last := 0, ""
	lines := bufio.NewScanner(told)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		last = lines.Text()
		if strings.Contains(last, " -> ") {
			edges++
		}
		if strings.Contains(last, "<ReflectMethod>") {
			t.Errorf("it looks up methods by names that the linker does not know: %s", last)
		}
	}
	if err := link.Wait(); err != nil || edges < 10_000 {
		t.Fatalf("%v, %d edges: %s", err, edges, last)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	if info.Size() > maxSize {
		t.Errorf("%d bytes, at most %d", info.Size(), maxSize)
	}
}
