package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The maximal size of the program, in bytes. The goal is 40 MB: the clients of the four server stores make the
// difference, and a build with the tag holdfast_minimal has none of them. The conversation in the terminal
// needs 2.2 MB more: about 1.5 MB are its own code, 0.5 MB are ultraviolet, which decodes keys, and the tables for
// the widths of characters, and 0.2 MB are images as input, plugins and keys that the user chooses.
const (
	maxSize    = 46_800_000
	maxMinimal = 41_800_000
)

// The linker removes unused code only if nothing looks up methods by names computed at run time: one such call
// in any package keeps all exported methods of everything (the program was 41 MB).
func TestProgramSize(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program, which takes some seconds")
	}
	link, file := build(t, "-ldflags=-s -w -dumpdep")
	output, err := link.StderrPipe()
	if err == nil {
		err = link.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	edges, last := 0, ""
	lines := bufio.NewScanner(output)
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
	checkSize(t, file, maxSize)
}

// A build without the clients of servers reports that.
func TestMinimalBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program, which takes some seconds")
	}
	link, file := build(t, "-ldflags=-s -w", "-tags=holdfast_minimal")
	if out, err := link.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	checkSize(t, file, maxMinimal)
	output, err := exec.CommandContext(t.Context(), file, "sessions", "list", "--store", "redis://127.0.0.1:1/0").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "redis stores are not part of this program") {
		t.Errorf("%v: %s", err, output)
	}
}

func build(t *testing.T, flags ...string) (link *exec.Cmd, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "holdfast")
	link = exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-buildvcs=false"}, flags...), "-o", file, ".")...)
	link.Env = append(os.Environ(), "CGO_ENABLED=0")
	return link, file
}

func checkSize(t *testing.T, file string, most int64) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	if info.Size() > most {
		t.Errorf("%d bytes, at most %d", info.Size(), most)
	}
}
